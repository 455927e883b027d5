// Making WebSocket requests.

import Foundation
import FoundationNetworking

extension Session {
    /// A WebSocket; the URL is `ws`, `wss`, `http` or `https`.
    ///
    /// - Parameters:
    ///   - url: the URL.
    ///   - configuration: subprotocol, longest message, automatic pings and compression.
    ///   - headers: fields of the handshake, which win over the session's.
    ///   - interceptor: adapts and retries this request, before the session's.
    ///   - shouldAutomaticallyResume: whether the first listener resumes the request; `nil` leaves it to the session.
    ///   - requestModifier: changes the handshake's `URLRequest`.
    public func webSocketRequest(
        to url: any URLConvertible, configuration: WebSocketRequest.Configuration = .default,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> WebSocketRequest {
        let request = EncodedRequest(url: url, method: .get, headers: headers, encode: nil, modify: requestModifier)
        return webSocketRequest(
            performing: request, configuration: configuration, interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// A WebSocket with parameters of an `Encodable` value in its URL; the other parameters are as above.
    public func webSocketRequest<Parameters: Encodable & Sendable>(
        to url: any URLConvertible, configuration: WebSocketRequest.Configuration = .default,
        parameters: Parameters? = nil,
        encoder: any ParameterEncoder = URLEncodedFormParameterEncoder.default, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> WebSocketRequest {
        let request = EncodedRequest(
            url: url, method: .get, headers: headers, encode: EncodedRequest.encoding(parameters, by: encoder),
            modify: requestModifier)
        return webSocketRequest(
            performing: request, configuration: configuration, interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// A WebSocket whose handshake is made by anything that makes a `URLRequest`; its method is GET in any case.
    public func webSocketRequest(
        performing convertible: any URLRequestConvertible, configuration: WebSocketRequest.Configuration = .default,
        interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil
    ) -> WebSocketRequest {
        begin(
            WebSocketRequest(
                convertible: convertible, configuration: configuration, core: core, interceptor: interceptor,
                shouldAutomaticallyResume: shouldAutomaticallyResume))
    }
}
