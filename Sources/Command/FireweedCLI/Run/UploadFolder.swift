// The folder that `fireweed serve --uploads` puts files into.

import CLinux
import FireweedTesting
import FixtureEndpoints
import Foundation
import Glibc
import Synchronization

/// Takes new files into a folder: no file is replaced, and no symbolic link is followed.
struct UploadFolder: Sendable {
    let root: String
    /// The most bytes that a file may have.
    let limit: Int

    /// The prefix of the names of incomplete files, where a file has to have a name.
    static let partialPrefix = ".fireweed-upload-"

    /// Accepts or refuses a PUT before its content arrives.
    func reception(of request: ReceivedRequest) -> Reception {
        let names = request.path.split(separator: "/", omittingEmptySubsequences: true).map(String.init)
        guard let name = names.last, !request.path.hasSuffix("/") else {
            return Self.refusal(400, "the URL has no name for the file")
        }
        guard request.target.prefix(while: { $0 != "?" }).removingPercentEncoding?.utf8.contains(0) == false else {
            return Self.refusal(400, "names are UTF-8, without a NUL")
        }
        guard names.allSatisfy({ !$0.hasPrefix(".") }) else {
            return Self.refusal(403, "names must not begin with a dot")
        }
        // Only new files are taken, and nothing matches what is not there (RFC 9110 §13.1.1).
        guard request.field("If-Match") == nil else { return Self.refusal(412, "only new files are taken") }
        // A part of a file must not be stored as the whole file (RFC 9110 §14.5).
        guard request.field("Content-Range") == nil else { return Self.refusal(400, "only whole files are taken") }
        // The coding would be forgotten, and the file be unreadable (RFC 9110 §15.5.16).
        let codings = request.values(ofField: "Content-Encoding").filter { $0.lowercased() != "identity" }
        guard codings.isEmpty else { return Self.refusal(415, "only content without a coding is taken") }
        // With two lengths, the end of the content is ambiguous (RFC 9112 §6.3).
        let lengths = Set(request.values(ofField: "Content-Length"))
        guard lengths.count <= 1, lengths.isEmpty || request.field("Transfer-Encoding") == nil else {
            return Self.refusal(400, "the content has more than one length")
        }
        // Without a length, content of HTTP/1.0 ends with the connection, which cannot be told from a loss.
        guard !request.isHTTP10 || !lengths.isEmpty else {
            return Self.refusal(411, "Content-Length is missing")
        }
        if let length = lengths.first.flatMap({ Int($0) }), length > limit {
            return Self.refusal(413, "the file is longer than \(limit) bytes")
        }
        let folder = open(names.dropLast())
        guard folder >= 0 else { return Self.refusal(404, "there is no such folder") }
        var status = stat()
        if fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 {
            close(folder)
            return Self.refusal(409, "\(name) is there already")
        }
        guard let file = UploadedFile(in: folder, name: name, limit: limit) else {
            return Self.refusal(403, "the folder cannot be written to")
        }
        return .receiver(file)
    }

    private static func refusal(_ status: Int, _ reason: String) -> Reception {
        .refused(.text(reason + "\n", status: status))
    }

    /// Opens a folder below the root; returns -1 if a component is missing, a symbolic link, or not a folder.
    private func open(_ names: some Sequence<String>) -> Int32 {
        var folder = Glibc.open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        for name in names where folder >= 0 {
            let next = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            close(folder)
            folder = next
        }
        return folder
    }
}

/// A file that arrives with a request, and gets its name when it is complete.
final class UploadedFile: ContentReceiver {
    private let folder: Int32
    private let descriptor: Int32
    private let name: String
    /// The name of the incomplete file on a file system without files that have no name; `nil` elsewhere.
    private let partialName: String?
    private let limit: Int
    private let progress = Mutex(Progress())

    private struct Progress {
        var byteCount = 0
        /// Why the file cannot be kept.
        var failure: (status: Int, reason: String)?
    }

    /// Makes an empty file in `folder`, a descriptor that this object closes, even on failure; `nil` if that fails.
    ///
    /// The file has no name, so that nothing is left of it however the process ends (open(2), `O_TMPFILE`).
    init?(in folder: Int32, name: String, limit: Int) {
        // Glibc's macro is not imported; its value is made of two flags.
        let unnamed = 0o20_000_000 | O_DIRECTORY
        var descriptor = openat(folder, ".", O_WRONLY | unnamed | O_CLOEXEC, 0o644)
        if descriptor >= 0, access(Self.path(of: descriptor), F_OK) == 0 {
            partialName = nil
        } else {
            if descriptor >= 0 { close(descriptor) }
            let name = UploadFolder.partialPrefix + String(UInt64.random(in: 0 ... .max), radix: 36)
            descriptor = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o644)
            partialName = name
        }
        guard descriptor >= 0 else {
            close(folder)
            return nil
        }
        (self.folder, self.descriptor, self.name, self.limit) = (folder, descriptor, name, limit)
    }

    deinit {
        if let partialName { unlinkat(folder, partialName, 0) }
        close(descriptor)
        close(folder)
    }

    /// The path under which the kernel shows a file that is open.
    private static func path(of descriptor: Int32) -> String { "/proc/self/fd/\(descriptor)" }

    func take(_ bytes: UnsafeRawBufferPointer) {
        progress.withLock { progress in
            guard progress.failure == nil else { return }
            progress.byteCount += bytes.count
            guard progress.byteCount <= limit else {
                progress.failure = (413, "the file is longer than \(limit) bytes")
                ftruncate(descriptor, 0)
                return
            }
            var offset = 0
            while offset < bytes.count {
                let count = write(descriptor, bytes.baseAddress.map { $0 + offset }, bytes.count - offset)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else {
                    progress.failure = (507, String(cString: strerror(errno)))
                    return
                }
                offset += count
            }
        }
    }

    /// Gives the complete file its name, unless a file with that name exists by now.
    func finish(at location: String) -> FixtureResponse {
        if let failure = progress.withLock({ $0.failure }) {
            return .text(failure.reason + "\n", status: failure.status)
        }
        let linked =
            if let partialName {
                linkat(folder, partialName, folder, name, 0)
            } else {
                linkat(AT_FDCWD, Self.path(of: descriptor), folder, name, AT_SYMLINK_FOLLOW)
            }
        guard linked == 0 else {
            let isThere = errno == EEXIST
            let reason = isThere ? "\(name) is there already" : String(cString: strerror(errno))
            return .text(reason + "\n", status: isThere ? 409 : 500)
        }
        return FixtureResponse(status: 201, fields: [("Location", location)])
    }
}
