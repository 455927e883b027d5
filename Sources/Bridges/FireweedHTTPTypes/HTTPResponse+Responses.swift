// Responses of a session as responses of swift-http-types.

#if HTTPTypes
public import Fireweed
import Foundation
import FoundationNetworking
public import HTTPTypes

extension HTTPResponse {
    /// Makes a response from a head: its fields in the order of the wire, with their case and their duplicates.
    ///
    /// Fields whose names are not valid in RFC 9110 are left out. The reason phrase is empty with HTTP/2, which has
    /// none. `nil` for a status that is not between 0 and 999.
    public init?(_ head: ResponseHead) {
        guard 0...999 ~= head.status else { return nil }
        self.init(
            status: Status(code: head.status, reasonPhrase: head.reason ?? ""), headerFields: HTTPFields(head))
    }

    /// Makes a response from Foundation's, which has joined the fields of one name and lost their order.
    fileprivate init?(_ response: HTTPURLResponse) {
        guard 0...999 ~= response.statusCode else { return nil }
        self.init(status: Status(code: response.statusCode))
        for header in response.headers.sorted() {
            guard let name = HTTPField.Name(header.name) else { continue }
            headerFields.append(HTTPField(name: name, value: header.value))
        }
    }

    fileprivate init?(_ context: any ResponseContext) {
        if let head = context.head {
            self.init(head)
        } else if let response = context.response {
            self.init(response)
        } else {
            return nil
        }
    }
}

extension Request {
    /// The head of the last attempt's response; `nil` before it comes.
    public var httpResponse: HTTPResponse? { responseHead.flatMap { HTTPResponse($0) } }

    /// The trailer fields of the last attempt's response (RFC 9110 §6.5).
    ///
    /// `nil` before the response is complete, and when no trailer fields came.
    public var httpTrailers: HTTPFields? { responseTrailers.map { HTTPFields($0) } }
}

extension DataResponse {
    /// The head of the response; `nil` when none came.
    ///
    /// If this value was made from an `HTTPURLResponse`, as some tests do, the order of the fields is lost.
    public var httpResponse: HTTPResponse? { HTTPResponse(context) }

    /// The trailer fields of the response (RFC 9110 §6.5); `nil` when none came.
    public var httpTrailers: HTTPFields? { context.trailers.map { HTTPFields($0) } }
}

extension DownloadResponse {
    /// The head of the response; `nil` when none came.
    ///
    /// If this value was made from an `HTTPURLResponse`, as some tests do, the order of the fields is lost.
    public var httpResponse: HTTPResponse? { HTTPResponse(context) }

    /// The trailer fields of the response (RFC 9110 §6.5); `nil` when none came.
    public var httpTrailers: HTTPFields? { context.trailers.map { HTTPFields($0) } }
}
#endif
