// The one seam at which libcurl's errors become ours.

import CCurl
import Foundation
import Glibc

/// What is known about a transfer that libcurl gave up.
struct CurlFailure {
    /// libcurl's code.
    var code: CURLcode
    /// libcurl's own sentence; may be empty.
    var text: String
    /// OpenSSL's verdict on the peer's chain (`X509_V_…`); 0 when there is none.
    var verifyResult = 0
    /// The errno of the failed system call; 0 when there is none.
    var osError = 0
    /// The fatal alert with which the server ended the TLS connection, if it is known.
    var alert: TLSAlert?
    /// True when the request had begun to leave: an unsupported protocol is then the peer's fault, not the caller's.
    var hadStarted = false

    /// The failure in the words of `URLError`.
    var transferFailure: TransferFailure {
        var detail = text.isEmpty ? String(cString: curl_easy_strerror(code)) : text
        // libcurl's text may tell of the reset that followed the alert.
        if let alert, alert.urlErrorCode != nil {
            detail = "the server ended the connection with the TLS alert “\(alert.text)”"
        }
        return .exchange(urlErrorCode, detail: detail, engineCode: Int(code.rawValue))
    }

    private var urlErrorCode: URLError.Code {
        if let code = alert?.urlErrorCode { return code }
        return switch code {
        case CURLE_UNSUPPORTED_PROTOCOL:
            // Also libcurl's answer to a status line that is none (HTTP/0.9 is refused).
            hadStarted ? .badServerResponse : .unsupportedURL
        // The kernel had no route at all: netdevice(7), ip(7).
        case CURLE_COULDNT_CONNECT where osError == Int(ENETUNREACH): .notConnectedToInternet
        case CURLE_PEER_FAILED_VERIFICATION: certificateErrorCode
        case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_SSL_CONNECT_ERROR: textualErrorCode
        default: Self.codes[code.rawValue] ?? .unknown
        }
    }

    /// Which fault the chain has, by OpenSSL's verdict (openssl-verification-options(1)).
    private var certificateErrorCode: URLError.Code {
        switch verifyResult {
        case 9: .serverCertificateNotYetValid
        case 10: .serverCertificateHasBadDate
        case 2, 18, 19, 20, 21: .serverCertificateHasUnknownRoot
        default: .serverCertificateUntrusted
        }
    }

    /// Faults that libcurl 7.88 tells apart in its sentence only.
    private var textualErrorCode: URLError.Code {
        // A malformed chunk: "… in chunked-encoding" from `Curl_readwrite`.
        if text.contains("chunked-encoding") { return .cannotParseResponse }
        if text.hasPrefix("CONNECT tunnel failed") || text.hasPrefix("Proxy CONNECT aborted") { return tunnelErrorCode }
        if text.contains("alert certificate required") { return .clientCertificateRequired }
        if Self.rejections.contains(where: text.contains) { return .clientCertificateRejected }
        return code == CURLE_SSL_CONNECT_ERROR ? .secureConnectionFailed : .networkConnectionLost
    }

    /// A proxy that makes no tunnel, by its status: it wants to know who we are, or cannot or may not reach the host.
    private var tunnelErrorCode: URLError.Code {
        // tinyproxy answers credentials that are wrong with 401.
        text.hasSuffix(" 407") || text.hasSuffix(" 401") ? .userAuthenticationRequired : .cannotConnectToHost
    }

    /// TLS alerts by which a peer refuses our certificate (RFC 8446 §6.2).
    private static let rejections = [
        "alert bad certificate", "alert unknown ca", "alert unsupported certificate", "alert certificate expired",
        "alert certificate revoked", "alert certificate unknown", "alert handshake failure: client",
    ]

    /// Every code of libcurl 7.88 that an HTTP transfer can end with, and those that only other protocols can.
    private static let codes: [UInt32: URLError.Code] = {
        var codes: [UInt32: URLError.Code] = [:]
        for (code, group) in groups { for member in group { codes[member.rawValue] = code } }
        return codes
    }()

    private static let groups: [(URLError.Code, [CURLcode])] = [
        (.badURL, [CURLE_URL_MALFORMAT]),
        (.unsupportedURL, [CURLE_NOT_BUILT_IN, CURLE_UNKNOWN_OPTION]),
        (.cannotFindHost, [CURLE_COULDNT_RESOLVE_HOST]),
        (
            .cannotConnectToHost,
            [CURLE_COULDNT_CONNECT, CURLE_COULDNT_RESOLVE_PROXY, CURLE_PROXY, CURLE_INTERFACE_FAILED]
        ),
        (.timedOut, [CURLE_OPERATION_TIMEDOUT]),
        (
            .networkConnectionLost,
            [
                CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING, CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_HTTP3, CURLE_AGAIN,
                CURLE_NO_CONNECTION_AVAILABLE, CURLE_UNRECOVERABLE_POLL, CURLE_QUIC_CONNECT_ERROR,
            ]
        ),
        (.badServerResponse, [CURLE_WEIRD_SERVER_REPLY, CURLE_HTTP_RETURNED_ERROR, CURLE_CHUNK_FAILED]),
        (.httpTooManyRedirects, [CURLE_TOO_MANY_REDIRECTS]),
        (.cannotDecodeContentData, [CURLE_BAD_CONTENT_ENCODING]),
        (.dataLengthExceedsMaximum, [CURLE_FILESIZE_EXCEEDED]),
        (.requestBodyStreamExhausted, [CURLE_READ_ERROR, CURLE_SEND_FAIL_REWIND]),
        (.userAuthenticationRequired, [CURLE_LOGIN_DENIED, CURLE_AUTH_ERROR, CURLE_REMOTE_ACCESS_DENIED]),
        (
            .secureConnectionFailed,
            [
                CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_CIPHER,
                CURLE_USE_SSL_FAILED, CURLE_SSL_SHUTDOWN_FAILED, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE,
            ]
        ),
        (
            .serverCertificateUntrusted,
            [
                CURLE_SSL_ISSUER_ERROR, CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_INVALIDCERTSTATUS,
            ]
        ),
        (.clientCertificateRequired, [CURLE_SSL_CLIENTCERT]),
        (.clientCertificateRejected, [CURLE_SSL_CERTPROBLEM]),
        (.cancelled, [CURLE_ABORTED_BY_CALLBACK]),
        (.cannotWriteToFile, [CURLE_WRITE_ERROR]),
        (
            .cannotLoadFromNetwork,
            [
                CURLE_FAILED_INIT, CURLE_OUT_OF_MEMORY, CURLE_BAD_FUNCTION_ARGUMENT, CURLE_FUNCTION_NOT_FOUND,
                CURLE_RANGE_ERROR, CURLE_HTTP_POST_ERROR, CURLE_BAD_DOWNLOAD_RESUME, CURLE_RECURSIVE_API_CALL,
            ]
        ),
    ]

    /// The codes that belong to protocols other than HTTP, and so cannot come out of here.
    static let otherProtocols: [ClosedRange<UInt32>] = [
        9...9, 10...15, 17...17, 19...21, 24...25, 29...32, 37...39, 46...46, 48...50, 57...57, 62...62, 68...76,
        78...78,
        79...79,
        84...88,
    ]
}

extension CurlFailure {
    /// libcurl's name for a code.
    static func name(of code: UInt32) -> String {
        String(cString: curl_easy_strerror(CURLcode(rawValue: code)))
    }

    /// The failure of a code after the request had begun to leave.
    static func failure(code: UInt32, text: String) -> TransferFailure {
        CurlFailure(code: CURLcode(rawValue: code), text: text, hadStarted: true).transferFailure
    }
}
