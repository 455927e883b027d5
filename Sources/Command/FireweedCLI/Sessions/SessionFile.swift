// The file of a named session.

import CommandLanguage
import Fireweed
import Foundation
import Glibc

/// Reads and writes a session's file, which only its owner can read.
struct SessionFile {
    let url: URL

    /// The file for a name: in the configuration folder, or at a path if the name has a `/`; throws `UsageError`.
    init(name: String, environment: [String: String] = ConfigurationFolder.environment) throws {
        if name.contains("/") {
            guard !name.hasSuffix("/") else {
                throw UsageError(message: "--session needs a file, not the folder \(name)")
            }
            url = URL(fileURLWithPath: name)
            return
        }
        let isPlain = name.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || "._-".utf8.contains(byte)
        }
        guard isPlain, !name.hasPrefix("."), name.utf8.count <= 100 else {
            throw UsageError(
                message: "\"\(name)\" is not the name of a session: letters, digits, \".\", \"_\" and \"-\"")
        }
        url = URL(fileURLWithPath: ConfigurationFolder.path(environment: environment) + "/sessions/\(name).json")
    }

    /// Returns the session in the file, an empty one if no file exists or the file is empty; throws `UsageError` for a
    /// file that cannot be read.
    func load() throws -> SavedSession {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) else { return SavedSession() }
        guard !isFolder.boolValue else {
            throw UsageError(message: "--session needs a file, not the folder \(url.path)")
        }
        do {
            let data = try Data(contentsOf: url)
            // Such as a file of mktemp(1).
            guard !data.isEmpty else { return SavedSession() }
            return try FireweedJSONDecoder().decode(SavedSession.self, from: data)
        } catch {
            throw UsageError(message: "the session file \(url.path) cannot be read; remove it to start anew")
        }
    }

    /// Writes a run's changes from `old` to `new`, and keeps the changes that other runs have made in between.
    ///
    /// Replaces the file atomically, so that there is always a whole file; throws what reading and writing throw.
    func save(from old: SavedSession, to new: SavedSession) throws {
        let folder = url.deletingLastPathComponent()
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        // The file is replaced, so a lock on it would be on the old file; the folder is locked instead.
        let lock = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer {
            if lock >= 0 {
                // Closing is not enough: a child process may still have the descriptor, and so the lock.
                flock(lock, LOCK_UN)
                close(lock)
            }
        }
        // On a file system without locks, the last run wins.
        while lock >= 0, flock(lock, LOCK_EX) != 0, errno == EINTR {}
        try write(try load().merging(from: old, to: new))
    }

    private func write(_ session: SavedSession) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let data = try encoder.encode(session)
        try FileInstaller.writePrivately(data, to: url)
    }
}
