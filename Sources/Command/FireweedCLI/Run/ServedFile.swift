// Responses of `fireweed serve` for a file, with conditions and ranges.

import CLinux
import Fireweed
import FixtureEndpoints
import Foundation
import Glibc

/// Answers requests for one file, with their conditions and ranges (RFC 9110 §13.1, §14.2).
struct ServedFile: Sendable {
    let file: OpenFile
    let type: String

    /// The entity tag: the length and the time of the last write.
    private var tag: String { "\"\(String(file.byteCount, radix: 16))-\(String(file.modified, radix: 16))\"" }
    private var date: String { HTTPDate.text(of: Date(timeIntervalSince1970: Double(file.seconds))) }

    func response(to request: ReceivedRequest) -> FixtureResponse {
        let validators = [("ETag", tag), ("Last-Modified", date)]
        if isRefused(request) { return FixtureResponse(status: 412, fields: validators) }
        // The length in a 304 is that of a 200's content (RFC 9110 §8.6).
        if isUnchanged(request) { return part(0..<file.byteCount, status: 304, validators) }
        let fields = [("Content-Type", type), ("Accept-Ranges", "bytes")] + validators
        let asked = request.method == "GET" && isCurrent(request) ? request.field("Range") : nil
        switch RequestedRange(asked, of: file.byteCount) {
        case .whole: return part(0..<file.byteCount, status: 200, fields)
        case .part(let bytes):
            let place = "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(file.byteCount)"
            return part(bytes, status: 206, fields + [("Content-Range", place)])
        case .unsatisfiable:
            return .text("no such range\n", status: 416, fields: [("Content-Range", "bytes */\(file.byteCount)")])
        }
    }

    private func part(_ bytes: Range<Int>, status: Int, _ fields: [(String, String)]) -> FixtureResponse {
        FixtureResponse(
            status: status, fields: fields.map { (name: $0.0, value: $0.1) },
            body: .pieces(byteCount: bytes.count) { file.piece($0, of: bytes) })
    }

    // MARK: Conditions

    private func isRefused(_ request: ReceivedRequest) -> Bool {
        if let tags = request.field("If-Match") { return !names(tags, isStrong: true) }
        guard let since = request.field("If-Unmodified-Since").flatMap({ HTTPDate.parse($0) }) else { return false }
        return Double(file.seconds) > since.timeIntervalSince1970
    }

    private func isUnchanged(_ request: ReceivedRequest) -> Bool {
        if let tags = request.field("If-None-Match") { return names(tags, isStrong: false) }
        guard let since = request.field("If-Modified-Since").flatMap({ HTTPDate.parse($0) }) else { return false }
        return Double(file.seconds) <= since.timeIntervalSince1970
    }

    /// Whether a list of entity tags contains the tag of the file, or `*`.
    private func names(_ tags: String, isStrong: Bool) -> Bool {
        tags.split(separator: ",").contains { word in
            let word = word.trimmingCharacters(in: .whitespaces)
            return word == "*" || word == tag || !isStrong && word == "W/\(tag)"
        }
    }

    /// Whether the validator of `If-Range`, if any, is that of the present file.
    private func isCurrent(_ request: ReceivedRequest) -> Bool {
        guard let validator = request.field("If-Range") else { return true }
        return validator == tag || validator == date
    }
}

/// A file that is read while it is sent, since it can be larger than memory.
final class OpenFile: Sendable {
    let byteCount: Int
    /// The time of the last write: in nanoseconds, and in seconds.
    let modified: Int
    let seconds: Int
    private let descriptor: Int32
    private static let pieceSize = 256 * 1024

    /// Opens a regular file; `nil` for other files, since a fifo would block the server, and for unreadable files.
    init?(path: String) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
        byteCount = Int(status.st_size)
        seconds = Int(status.st_mtim.tv_sec)
        modified = Int(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int(status.st_mtim.tv_nsec)
    }

    deinit { close(descriptor) }

    /// Returns the piece of a part with this number; `.end` after the last piece, and at the end of a file that became
    /// shorter, which cuts the response off.
    func piece(_ number: Int, of part: Range<Int>) -> FixtureResponse.Piece {
        let offset = part.lowerBound + number * Self.pieceSize
        guard offset < part.upperBound else { return .end }
        var bytes = [UInt8](repeating: 0, count: min(Self.pieceSize, part.upperBound - offset))
        let count = pread(descriptor, &bytes, bytes.count, off_t(offset))
        return count > 0 ? .bytes(Data(bytes.prefix(count))) : .end
    }
}
