// The folder of stored responses.

import Fireweed
import Foundation

/// The cache that runs of the command share.
enum CacheFolder {
    /// Returns `$XDG_CACHE_HOME/fireweed`, or `~/.cache/fireweed`.
    static func url(environment: [String: String] = ConfigurationFolder.environment) -> URL {
        // The XDG Base Directory Specification says to ignore a path that is not absolute.
        let given = environment["XDG_CACHE_HOME"].flatMap { $0.hasPrefix("/") ? URL(fileURLWithPath: $0) : nil }
        let home =
            environment["HOME"].map { URL(fileURLWithPath: $0) } ?? FileManager.default.homeDirectoryForCurrentUser
        return (given ?? home.appendingPathComponent(".cache")).appendingPathComponent("fireweed")
    }

    /// Opens the store; prints a message and returns `nil` if it cannot be opened, since a request does not need a
    /// cache.
    static func store() -> (any ResponseStore)? {
        let folder = url()
        do {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            return try SQLiteResponseStore(url: folder.appendingPathComponent("responses.sqlite"))
        } catch {
            Terminal.tell("fireweed: the cache in \(folder.path) cannot be used, and is left out\n")
            return nil
        }
    }

    /// Returns a line that says whether the response came from the cache.
    static func note(of metrics: TaskMetrics) -> String {
        switch metrics.responseSource {
        case .network: "* cache: miss\n"
        case .cache: "* cache: hit\n"
        case .revalidation: "* cache: hit, revalidated\n"
        case .notSent: "* cache: miss, nothing sent\n"
        }
    }
}
