// The file of a named session.

import Foundation
import Glibc

/// Reads and writes a session's file, which nobody else can read.
struct SessionFile {
    let url: URL

    /// The file of a name: in the user's configuration folder, or a path where the name has a `/`; throws `UsageError`.
    init(name: String, environment: [String: String] = ProcessInfo.processInfo.environment) throws {
        if name.contains("/") {
            url = URL(fileURLWithPath: name)
            return
        }
        let isPlain = name.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || "._-".utf8.contains(byte)
        }
        guard isPlain, !name.hasPrefix("."), name.utf8.count <= 100 else {
            throw UsageError(message: "\"\(name)\" is no name of a session: letters, digits, \".\", \"_\" and \"-\"")
        }
        let base =
            environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? URL(fileURLWithPath: $0) : nil }
            ?? URL(fileURLWithPath: environment["HOME"] ?? NSHomeDirectory()).appendingPathComponent(".config")
        url = base.appendingPathComponent("fireweed/sessions/\(name).json")
    }

    /// What the file holds; an empty session when there is none; throws `UsageError` for one that cannot be read.
    func load() throws -> SavedSession {
        guard FileManager.default.fileExists(atPath: url.path) else { return SavedSession() }
        do {
            return try JSONDecoder().decode(SavedSession.self, from: Data(contentsOf: url))
        } catch {
            throw UsageError(message: "the session file \(url.path) cannot be read; remove it to start anew")
        }
    }

    /// Puts a new file in the place of the old one, so that there is always a whole one; throws `POSIXError`.
    func save(_ session: SavedSession) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let data = try encoder.encode(session)
        let folder = url.deletingLastPathComponent()
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let temporary = folder.appendingPathComponent(".\(url.lastPathComponent).\(UUID().uuidString)").path
        do {
            try Self.write(data, to: temporary)
            guard rename(temporary, url.path) == 0 else { throw Self.error }
        } catch {
            unlink(temporary)
            throw error
        }
    }

    private static func write(_ data: Data, to path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw error }
        defer { close(descriptor) }
        // The mode at creation is what the umask leaves of it.
        guard fchmod(descriptor, 0o600) == 0 else { throw error }
        var left = data[...]
        while !left.isEmpty {
            let count = left.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw error }
            left = left.dropFirst(count)
        }
        guard fsync(descriptor) == 0 else { throw error }
    }

    private static var error: POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
}
