import FixtureServer
import Foundation
import Glibc
import Testing

@testable import Fireweed

/// Locks of a process while a child, which has not executed its program yet, shares its open files.
@Suite("Locks on files")
struct FileLockTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// A second descriptor for each one of the file, as a child has them.
    private func childDescriptors(of file: URL) -> [Int32] {
        var (named, open) = (stat(), stat())
        guard stat(file.path, &named) == 0 else { return [] }
        return (Int32(0)..<1024).compactMap { descriptor in
            guard fstat(descriptor, &open) == 0, open.st_ino == named.st_ino, open.st_dev == named.st_dev else {
                return nil
            }
            return fcntl(descriptor, F_DUPFD_CLOEXEC, 1024)
        }
    }

    private func isFree(_ file: URL) -> Bool {
        let descriptor = open(file.path, O_RDWR | O_CLOEXEC)
        defer { FileLock.close(descriptor) }
        return FileLock.take(descriptor, .exclusive) == .taken
    }

    @Test("a database's lock ends with its object", arguments: [FileLock.Kind.shared, .exclusive])
    func database(kind: FileLock.Kind) throws {
        let database = folder.file("database.sqlite")
        let file = folder.file("database.sqlite-lock")
        var descriptors: [Int32] = []
        do {
            let lock = try DatabaseLock(besideDatabaseAt: database.path)
            try lock.take(kind, waitingMilliseconds: 0)
            descriptors = childDescriptors(of: file)
            #expect(descriptors.count == 1 && !isFree(file))
            withExtendedLifetime(lock) {}
        }
        #expect(isFree(file))
        descriptors.forEach { close($0) }
    }

    @Test("the lock of the HSTS file ends with the change")
    func strictTransport() throws {
        let file = folder.file("hosts.json")
        var descriptors: [Int32] = []
        StrictTransportFile(url: file).whileLocked {
            descriptors = childDescriptors(of: file)
            #expect(!isFree(file))
        }
        #expect(descriptors.count == 1 && isFree(file))
        descriptors.forEach { close($0) }
    }
}
