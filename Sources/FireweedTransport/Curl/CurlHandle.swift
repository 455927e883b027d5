// What all owners of easy handles do to them.

import CCurl
import Foundation

/// Something that owns an easy handle and sets options on it.
protocol CurlHandle {
    var easy: UnsafeMutableRawPointer { get }
}

extension CurlHandle {
    func set(_ option: CURLoption, _ value: Int) {
        check(fw_easy_set_long(easy, option, value))
    }

    func setOffset(_ option: CURLoption, _ value: Int64) {
        check(fw_easy_set_offset(easy, option, curl_off_t(value)))
    }

    func set(_ option: CURLoption, _ value: String?) {
        check(fw_easy_set_string(easy, option, value))
    }

    /// Sets text that comes from outside; throws when libcurl does not take it, which it does up to 8,000,000 bytes.
    func setText(_ option: CURLoption, _ value: String?) throws(TransferFailure) {
        let code = fw_easy_set_string(easy, option, value)
        guard code != CURLE_OK else { return }
        let detail = "\(String(cString: curl_easy_strerror(code))) (a text of \(value?.utf8.count ?? 0) bytes)"
        throw .exchange(.dataLengthExceedsMaximum, detail: detail, engineCode: Int(code.rawValue))
    }

    func set(_ option: CURLoption, pointer: UnsafeRawPointer?) {
        check(fw_easy_set_pointer(easy, option, pointer))
    }

    func check(_ code: CURLcode) {
        precondition(code == CURLE_OK, "libcurl refused an option: \(String(cString: curl_easy_strerror(code)))")
    }

    /// Version and cipher of the handle's connection, while it has one.
    func agreedTLS() -> TransferReport.TLS? {
        var pointer: UnsafeMutableRawPointer?
        fw_easy_get_pointer(easy, CURLINFO_TLS_SSL_PTR, &pointer)
        let session = pointer?.assumingMemoryBound(to: curl_tlssessioninfo.self)
        guard let handle = session?.pointee.internals else { return nil }
        return OpenSSLLibrary.report(of: handle).map { TransferReport.TLS(version: $0.version, cipher: $0.cipher) }
    }
}
