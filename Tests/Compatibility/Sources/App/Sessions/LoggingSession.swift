import Alamofire
import Foundation

/// A session that adds a header to every request and counts them, by overriding what makes them.
public final class LoggingSession: Session, @unchecked Sendable {
    private let lock = NSLock()
    private var storedURLs: [String] = []

    public var urls: [String] { lock.withLock { storedURLs } }

    private func log(_ url: String) {
        lock.withLock { storedURLs.append(url) }
    }

    public override func request(
        _ convertible: any URLRequestConvertible, interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> DataRequest {
        log(convertible.urlRequest?.url?.absoluteString ?? "none")
        return super.request(
            convertible, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    public override func request(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, parameters: Parameters? = nil,
        encoding: any ParameterEncoding = URLEncoding.default, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DataRequest {
        // What this calls ends in the method above, as in Alamofire.
        var headers = headers ?? [:]
        headers.update(name: "X-Logged", value: "yes")
        return super.request(
            convertible, method: method, parameters: parameters, encoding: encoding, headers: headers,
            interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume,
            requestModifier: requestModifier)
    }

    public override func request<Parameters: Encodable & Sendable>(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, parameters: Parameters? = nil,
        encoder: any ParameterEncoder = URLEncodedFormParameterEncoder.default, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DataRequest {
        return super.request(
            convertible, method: method, parameters: parameters, encoder: encoder, headers: headers,
            interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume,
            requestModifier: requestModifier)
    }

    public override func download(
        _ convertible: any URLRequestConvertible, interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil, to destination: DownloadRequest.Destination? = nil
    ) -> DownloadRequest {
        log("download")
        return super.download(
            convertible, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume, to: destination
        )
    }

}
