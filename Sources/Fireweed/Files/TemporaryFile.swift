// Temporary files and their ownership.

import Foundation
import Glibc
import Synchronization

/// A temporary file that is removed with the last reference to it, unless it is kept.
///
/// Requests, responses and errors that can return the file's URL hold a reference. Returning the URL does not keep the
/// file: `FileReceiver` decides once, before the handlers run, whether the file is kept.
final class TemporaryFile: Sendable {
    let url: URL
    /// Whether the file is in its own temporary folder, which is removed with the file.
    let hasFolder: Bool
    private let isKept = Atomic<Bool>(false)

    /// Makes a path in a new temporary folder; the file itself is not made.
    ///
    /// Throws when the folder cannot be made.
    init() throws {
        url = try TemporaryFolders.newPath()
        hasFolder = true
    }

    /// A file beside its destination.
    init(sibling: URL) {
        url = sibling
        hasFolder = false
    }

    /// Keeps the file: the caller owns it from now on.
    func keep() {
        guard !isKept.exchange(true, ordering: .acquiringAndReleasing) else { return }
        if hasFolder { TemporaryFolders.keep(url) }
    }

    /// Keeps the file for a later download; a file in a temporary folder is removed ten days after its last change.
    func keepForResuming() {
        guard !isKept.exchange(true, ordering: .acquiringAndReleasing) else { return }
        if hasFolder { TemporaryFolders.keepForResuming(url) }
    }

    /// Leaves the removal of the file and its folder to other code; if this process is killed, the next process removes
    /// them.
    func release() {
        isKept.store(true, ordering: .releasing)
    }

    /// Removes the folder, after the file was moved out of it.
    func moved() {
        isKept.store(true, ordering: .releasing)
        if hasFolder { TemporaryFolders.leave(url) }
    }

    /// Removes the file immediately, even if a caller keeps it.
    func remove() {
        isKept.store(true, ordering: .releasing)
        unlink(url.path)
        if hasFolder { TemporaryFolders.leave(url) }
    }

    deinit {
        guard !isKept.load(ordering: .acquiring) else { return }
        unlink(url.path)
        if hasFolder { TemporaryFolders.leave(url) }
    }
}

/// The file of a response's content, with its owner.
struct ContentFile: Sendable {
    let url: URL
    /// `nil` when the file belongs to the user.
    let owner: TemporaryFile?
}

/// Resume data, with the owner of the partial file.
struct ProducedResumeData: Sendable {
    let data: Data
    /// `nil` when the partial file belongs to the user.
    let owner: TemporaryFile?
}
