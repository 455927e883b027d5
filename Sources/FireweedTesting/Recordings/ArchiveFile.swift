// The file to which recording transports write.

import Fireweed
import Foundation
import Synchronization

/// An archive file into which several tests of a process may record, even at the same time.
struct ArchiveFile: Sendable {
    let url: URL

    /// The paths of archives that this process has renewed, and whose entries were all recorded by this process.
    ///
    /// The lock is held while a file is read and written, so that no exchange of another test is lost.
    private static let renewed = Mutex<Set<String>>([])

    /// Appends entries to the file; creates the file if it is missing.
    func append(_ entries: [JSONValue]) throws {
        try Self.renewed.withLock { _ in
            let isThere = FileManager.default.fileExists(atPath: url.path)
            try write((isThere ? try found() : []) + entries)
        }
    }

    /// Replaces the entries that the file had before this process first renewed it.
    ///
    /// Entries that other tests have added since then stay, except entries for the same requests.
    func renew(_ entries: [JSONValue]) throws {
        try Self.renewed.withLock { renewed in
            let path = url.standardizedFileURL.path
            let keys = Set(try entries.map { try Self.key(of: $0) })
            let kept =
                renewed.contains(path) && FileManager.default.fileExists(atPath: path)
                ? try found().filter { try !keys.contains(Self.key(of: $0)) } : []
            try write(kept + entries)
            renewed.insert(path)
        }
    }

    private func found() throws -> [JSONValue] { try ArchiveBuilder.entries(of: Data(contentsOf: url)) }

    private static func key(of entry: JSONValue) throws -> ArchivedExchange.Key {
        try FireweedJSONDecoder().decode(ArchivedExchange.self, from: entry.data).key
    }

    private func write(_ entries: [JSONValue]) throws {
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try ArchiveBuilder.archive(of: entries).write(to: url, options: .atomic)
    }
}
