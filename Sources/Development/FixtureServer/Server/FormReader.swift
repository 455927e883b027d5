// Forms, read by libmicrohttpd's post processor.

import CMicrohttpd
import CZlib
import FixtureEndpoints
import Foundation

/// Feeds a request's content to libmicrohttpd's post processor, piece by piece as it comes, and keeps the parts.
///
/// Used only on the thread of the request's connection.
final class FormReader {
    private static let keptByteCount = 64 * 1024
    private var processor: OpaquePointer?
    private(set) var parts: [FormPart] = []
    /// False once the processor has found an error in the form.
    private(set) var isWellFormed = true

    /// Makes a reader; `nil` when the request has no form.
    init?(_ connection: OpaquePointer) {
        processor = MHD_create_post_processor(
            connection, 32 * 1024, partArrived, Unmanaged.passUnretained(self).toOpaque())
        if processor == nil { return nil }
    }

    deinit {
        if let processor { MHD_destroy_post_processor(processor) }
    }

    func take(_ bytes: UnsafeRawBufferPointer) {
        guard let processor, isWellFormed else { return }
        isWellFormed = MHD_post_process(processor, bytes.bindMemory(to: CChar.self).baseAddress, bytes.count) == fw_yes
    }

    /// Ends the form: the processor reports the last part, or that the form is incomplete.
    func finish() {
        guard let processor else { return }
        if MHD_destroy_post_processor(processor) != fw_yes { isWellFormed = false }
        self.processor = nil
    }

    fileprivate func take(_ part: FormPart, at offset: UInt64, _ bytes: UnsafeRawBufferPointer) {
        // libmicrohttpd may report a part first without content, and then again with content.
        let isAnnounced = parts.last == part && !bytes.isEmpty
        if offset == 0, !isAnnounced { parts.append(part) }
        guard var last = parts.popLast() else { return }
        last.byteCount += bytes.count
        last.checksum = crc32(last.checksum, bytes.bindMemory(to: UInt8.self).baseAddress, UInt32(bytes.count))
        last.head.append(contentsOf: bytes.prefix(Self.keptByteCount - last.head.count))
        parts.append(last)
    }
}

/// libmicrohttpd calls this for some bytes of a part; `owner` is the `FormReader`, which owns the processor.
private func partArrived(
    _ owner: UnsafeMutableRawPointer?, _: MHD_ValueKind, _ name: UnsafePointer<CChar>?,
    _ fileName: UnsafePointer<CChar>?, _ type: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?,
    _ data: UnsafePointer<CChar>?, _ offset: UInt64, _ count: Int
) -> MHD_Result {
    guard let owner else { return fw_no }
    let part = FormPart(
        name: name.map { String(cString: $0) } ?? "", fileName: fileName.map { String(cString: $0) },
        type: type.map { String(cString: $0) }, byteCount: 0, checksum: crc32(0, nil, 0), head: Data())
    Unmanaged<FormReader>.fromOpaque(owner).takeUnretainedValue()
        .take(part, at: offset, UnsafeRawBufferPointer(start: data, count: count))
    return fw_yes
}
