// The file of hosts, which processes share.

import FireweedTransport
import Foundation
import Glibc
import JSONTape

/// A file that is replaced as a whole; a lock lets processes change it one after the other.
struct StrictTransportFile {
    let url: URL

    /// The hosts in the file; `nil` when the file is missing or cannot be read.
    func read() -> [StrictTransportSecurity.Host]? {
        try? JSONDecoder().decodeWithoutTrap([StrictTransportSecurity.Host].self, from: FileContent.read(url))
    }

    /// Replaces the file; only this user can read the new one.
    func write(_ hosts: [StrictTransportSecurity.Host]) throws {
        try FileInstaller.writePrivately(JSONEncoder().encode(hosts), to: url)
    }

    /// Runs `body` while no other process changes the file.
    ///
    /// The file itself is locked; if it is missing, an empty one is made first. If the file cannot be locked, or
    /// another process keeps the lock for five seconds, `body` runs without the lock.
    func whileLocked(_ body: () -> Void) {
        BlockingCall.check("open")
        while true {
            let descriptor = open(url.path, O_RDONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0o600)
            guard descriptor >= 0 else { return body() }
            defer { FileLock.close(descriptor) }
            var (locked, named) = (stat(), stat())
            guard fstat(descriptor, &locked) == 0, locked.st_mode & S_IFMT == S_IFREG else { return body() }
            guard FileLock.take(descriptor, .exclusive, waitingMilliseconds: 5000) == .taken else { return body() }
            // Another process may have replaced the file before it released the lock: the new file is then locked.
            guard stat(url.path, &named) == 0, named.st_ino == locked.st_ino, named.st_dev == locked.st_dev else {
                continue
            }
            return body()
        }
    }
}
