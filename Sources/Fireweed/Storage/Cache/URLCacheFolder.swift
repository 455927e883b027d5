// Permissions of a `URLCache`'s folder.

import FireweedTransport
import Foundation
import FoundationNetworking
import Glibc

/// The folder of a `URLCache`.
///
/// Foundation on Linux makes the folder with mode 0755 and its files with mode 0644: every user of the machine could
/// read stored responses. So this type changes both modes: the folder's when a session gets the cache, a file's after
/// it was written.
struct URLCacheFolder: Sendable {
    private let url: URL

    private static let suffix = ".storedcachedurlresponse"

    /// Finds the folder and makes it unreadable for other users; `nil` when the cache has no disk capacity or folder.
    ///
    /// A folder with a file that Foundation's cache has not written keeps its mode: other programs may need it.
    init?(of cache: URLCache) {
        guard cache.diskCapacity > 0, let url = Self.url(of: cache) else { return nil }
        self.url = url
        if let names = try? FileManager.default.contentsOfDirectory(atPath: url.path),
            names.allSatisfy({ $0.hasSuffix(Self.suffix) })
        {
            chmod(url.path, 0o700)
        }
        closeFiles()
    }

    /// Makes the files unreadable for other users.
    func closeFiles() {
        BlockingCall.check("stat")
        let names = (try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []
        for name in names where name.hasSuffix(Self.suffix) {
            let path = url.appendingPathComponent(name).path
            var status = stat()
            guard stat(path, &status) == 0, status.st_mode & 0o077 != 0 else { continue }
            chmod(path, 0o600)
        }
    }

    /// The folder of a cache: `URLCache` does not say where it is, but swift-corelibs-foundation keeps it in the
    /// property `cacheDirectory`.
    private static func url(of cache: URLCache) -> URL? {
        var mirror: Mirror? = Mirror(reflecting: cache)
        while let present = mirror {
            if let child = present.children.first(where: { $0.label == "cacheDirectory" }) {
                return child.value as? URL
            }
            mirror = present.superclassMirror
        }
        return nil
    }
}
