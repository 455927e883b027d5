// The client of one transfer, to which a `URLProtocol` reports.

import FireweedTransport
import Foundation
import FoundationNetworking

/// Passes the reports of one `URLProtocol` to its transfer; on any thread.
final class ProtocolClient: NSObject, URLProtocolClient, Sendable {
    private let transfer: ProtocolTransfer

    init(_ transfer: ProtocolTransfer) {
        self.transfer = transfer
    }

    func urlProtocol(_: URLProtocol, didReceive response: URLResponse, cacheStoragePolicy: URLCache.StoragePolicy) {
        transfer.take(.response(response, .made(cacheStoragePolicy)))
    }

    func urlProtocol(_: URLProtocol, didLoad data: Data) {
        transfer.take(.content(data))
    }

    func urlProtocolDidFinishLoading(_: URLProtocol) {
        transfer.take(.end(nil))
    }

    func urlProtocol(_: URLProtocol, didFailWithError error: any Error) {
        transfer.take(.end(.reported(Self.plain(error))))
    }

    func urlProtocol(_: URLProtocol, wasRedirectedTo request: URLRequest, redirectResponse: URLResponse) {
        transfer.take(.redirect(request, redirectResponse))
    }

    func urlProtocol(_: URLProtocol, cachedResponseIsValid cachedResponse: CachedURLResponse) {
        transfer.take { $0.add(stored: cachedResponse) }
    }

    func urlProtocol(_: URLProtocol, didReceive challenge: URLAuthenticationChallenge) {
        transfer.answer(challenge)
    }

    func urlProtocol(_: URLProtocol, didCancel challenge: URLAuthenticationChallenge) {
        // The challenge was answered when it came: there is nothing to cancel.
    }

    /// The error as a `URLError`, if its domain is `NSURLErrorDomain`: on Linux `as? URLError`, which retriers use,
    /// fails for an `NSError`.
    private static func plain(_ error: any Error) -> any Error {
        let plain = error as NSError
        guard !(error is URLError), plain.domain == NSURLErrorDomain, let code = URLError.Code(rawValue: plain.code)
        else { return error }
        return URLError(code, userInfo: plain.userInfo)
    }
}
