// Failures of HTTP/2, with the codes of `URLError`.

import CNghttp2
import Foundation

extension TransferFailure {
    /// The peer reset a stream.
    static func reset(by code: UInt32) -> TransferFailure {
        .exchange(
            .networkConnectionLost,
            detail: "the server reset the stream: \(HTTP2ErrorCode.name(of: code)) (RFC 9113 §7)",
            engineCode: Int(code))
    }

    /// The peer broke the rules of HTTP/2.
    static func brokenHTTP2(_ detail: String) -> TransferFailure {
        .exchange(.badServerResponse, detail: "the server breaks HTTP/2: \(detail)", engineCode: 0)
    }

    /// The server answers in HTTP/1, although both sides agreed on HTTP/2 in TLS or the options say that it speaks
    /// HTTP/2.
    static let answersInHTTP1 = TransferFailure.exchange(
        .badServerResponse,
        detail: "the connection is for HTTP/2, as was agreed or told, and the server answers in HTTP/1", engineCode: 0)

    /// The peer ended the connection with an error code in a GOAWAY frame.
    static func goneAway(_ code: UInt32) -> TransferFailure {
        .exchange(
            .networkConnectionLost,
            detail: "the server closed the connection: \(HTTP2ErrorCode.name(of: code)) (RFC 9113 §6.8)",
            engineCode: Int(code))
    }
}

/// The error codes of RFC 9113 §7.
enum HTTP2ErrorCode {
    static let none: UInt32 = 0x0
    static let protocolError: UInt32 = 0x1
    static let refusedStream: UInt32 = 0x7
    static let cancel: UInt32 = 0x8
    static let http1Required: UInt32 = 0xD

    /// The name of the code; its number if the code is unknown.
    static func name(of code: UInt32) -> String {
        code <= http1Required ? String(cString: nghttp2_http2_strerror(code)) : "error code \(code)"
    }

    /// nghttp2's text for one of its own errors.
    static func sentence(of libraryError: Int32) -> String { String(cString: nghttp2_strerror(libraryError)) }
}
