// A file of the library's own, until somebody takes it.

import Foundation
import Glibc
import Synchronization

/// A file of the library's own, removed with its last reference unless it was taken.
///
/// Requests, responses and errors that can give its URL away hold a reference; giving it away takes it.
final class OwnedFile: Sendable {
    let url: URL
    /// Whether the file has a temporary folder of its own, which goes with it.
    private let hasFolder: Bool
    private let isTaken = Atomic<Bool>(false)

    /// A new place in a temporary folder of its own, where there is no file yet.
    ///
    /// Throws when its folder cannot be made.
    init() throws {
        url = try TemporaryFiles.newPlace()
        hasFolder = true
    }

    /// A file that was made beside the one that it is to become.
    init(sibling: URL) {
        url = sibling
        hasFolder = false
    }

    /// From now on the file is somebody else's.
    func take() {
        guard !isTaken.exchange(true, ordering: .acquiringAndReleasing) else { return }
        if hasFolder { TemporaryFiles.keep(url) }
    }

    /// From now on somebody else removes the file and its folder; when this process is killed, the next one does.
    func handOver() {
        isTaken.store(true, ordering: .releasing)
    }

    /// The file has gone from its folder; the folder goes now.
    func moved() {
        isTaken.store(true, ordering: .releasing)
        if hasFolder { TemporaryFiles.leave(url) }
    }

    /// Removes the file now, even if it was taken.
    func remove() {
        isTaken.store(true, ordering: .releasing)
        unlink(url.path)
        if hasFolder { TemporaryFiles.leave(url) }
    }

    deinit {
        guard !isTaken.load(ordering: .acquiring) else { return }
        unlink(url.path)
        if hasFolder { TemporaryFiles.leave(url) }
    }
}

/// Where a response's content is, and who owns that file.
struct ContentFile: Sendable {
    let url: URL
    /// `nil` when the file is the user's.
    let owner: OwnedFile?

    /// The URL, for somebody who keeps it.
    var taken: URL {
        owner?.take()
        return url
    }
}

/// Resume data, and who owns the partial file that it names.
struct ProducedResumeData: Sendable {
    let data: Data
    let owner: OwnedFile?

    /// The data, for somebody who keeps it.
    var taken: Data {
        owner?.take()
        return data
    }
}
