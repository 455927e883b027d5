// The local server that receives the requests of `--offline`.

import Fireweed
import FireweedTesting
import FixtureServer
import Foundation

/// A server inside this process, on a Unix-domain socket in a private folder: what is sent to it leaves nothing.
final class OfflineServer {
    private let folder: TemporaryFolder
    private let server: MockServer

    /// The socket's path.
    var path: String { folder.file("s").path }

    /// Starts the server; throws what starting throws.
    init() throws {
        folder = try TemporaryFolder()
        server = try MockServer.start(unixSocketPath: folder.file("s").path, stubs: [Stub.any().reply(.status(204))])
    }

    /// Removes the folder; for the end of the process, which ends before this object.
    func removeFolder() { try? FileManager.default.removeItem(at: folder.url) }

    /// The URL as it is sent there: in clear text, with the same `Host`.
    static func url(_ url: URL) -> URL {
        var components = URLComponents(url: url, resolvingAgainstBaseURL: false)
        components?.scheme = "http"
        return components?.url ?? url
    }
}
