// The local server that receives the requests of `--offline`.

import Fireweed
import FireweedTesting
import Foundation
import Glibc

/// A server inside this process, on a Unix-domain socket in a private folder: nothing leaves the process.
final class OfflineServer {
    private let folder: URL
    private let server: MockServer
    /// The open folder, which gives its socket a short path; -1 if the folder cannot be opened.
    private let descriptor: Int32

    /// The socket's path, through the descriptor: it is short wherever the folder is, since the limit is 107 bytes
    /// (unix(7)).
    let path: String

    /// Starts the server; throws what starting throws.
    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("fireweed-\(UUID.random().uuidString)")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        descriptor = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        path = descriptor < 0 ? folder.appendingPathComponent("s").path : "/proc/self/fd/\(descriptor)/s"
        server = try MockServer.start(unixSocketPath: path, stubs: [Stub.any().reply(.status(204))])
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
        removeFolder()
    }

    /// Removes the folder; called before the process ends, since no `deinit` runs at that time.
    func removeFolder() { try? FileManager.default.removeItem(at: folder) }

    /// Returns the URL to send to this server: the scheme becomes http, and `Host` stays the same.
    static func url(_ url: URL) -> URL {
        var components = URLComponents(url: url, resolvingAgainstBaseURL: false)
        components?.scheme = "http"
        return components?.url ?? url
    }
}
