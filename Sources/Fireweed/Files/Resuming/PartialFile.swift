// The file that a download writes, and the resume data for its bytes.

import FireweedTransport
import Foundation
import Glibc
import Synchronization

/// A partial file, open and locked: no two downloads write to it, even in different processes.
///
/// Only a new temporary file is not locked, since no other download knows its path.
///
/// With a sidecar, a file of the same name with `.resume` appended, a later download can continue even after this
/// process was killed. The sidecar is replaced as a whole: after the file was emptied, and before the first byte of
/// another representation is written. The sidecar has no secrets, and only this user can read the two files until
/// the download is complete.
final class PartialFile: Sendable {
    /// The lock, and the resume data, which is `nil` when a later download cannot use the bytes in the file.
    private struct State {
        var resumeData: ResumeData?
        var isLocked = true
        var isComplete = false
    }

    let url: URL
    let hasSidecar: Bool
    /// The owner of a temporary file: the file is removed with its owner, unless a caller keeps it.
    let owner: TemporaryFile?
    let descriptor: Int32
    private let state: Mutex<State>

    var resumeData: ResumeData? { state.withLock { $0.resumeData } }

    /// Makes a new file in a temporary place.
    init(temporary: TemporaryFile) throws {
        BlockingCall.check("open")
        url = temporary.url
        hasSidecar = false
        owner = temporary
        descriptor = Descriptors.make { Glibc.open(temporary.url.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o666) }
        state = Mutex(State())
        guard descriptor >= 0 else { throw FileFailure.current(.create, url) }
    }

    /// Makes a new file beside its destination.
    ///
    /// The file to replace may be private: the new file is private until it gets the mode of that file.
    convenience init(beside target: String, isReplacing: Bool) throws {
        let (url, descriptor) = try SiblingFile.make(beside: target, mode: isReplacing ? 0o600 : 0o666)
        self.init(
            url: url, hasSidecar: false, owner: TemporaryFile(sibling: url), descriptor: descriptor, resumeData: nil)
    }

    /// Opens the file that resume data names; `nil` when it is gone.
    ///
    /// Throws ``ResumeError``: `.notPartial` for a file that no download has left, since resume data from an untrusted
    /// source may name any file.
    convenience init?(resuming data: ResumeData) throws {
        guard let opened = try Self.open(data.file, flags: 0) else { return nil }
        let known = (try? Self.readSidecar(of: data.file)) ?? nil
        self.init(url: data.file, hasSidecar: known != nil, descriptor: opened, resumeData: data)
        guard known != nil || SiblingFile.isPartialFile(data.file) || TemporaryFolders.isPartialFile(data.file) else {
            throw ResumeError.notPartial(data.file)
        }
    }

    /// Opens or makes the file at a path of the caller, with a sidecar.
    ///
    /// Throws `ResumeError.notPartial` for a file that is not empty and has no sidecar.
    convenience init(at url: URL, makingFolders: Bool) throws {
        if makingFolders {
            do {
                try FileManager.default.createDirectory(
                    at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            } catch {
                throw ResumeError.unusable(url, underlying: error)
            }
        }
        // Checked first, so that no file is made beside another program's `.resume` file.
        _ = try Self.readSidecar(of: url)
        guard let opened = try Self.open(url, flags: O_CREAT) else {
            throw ResumeError.unusable(url, underlying: POSIXError(.ENOENT))
        }
        let known = try Self.readSidecar(of: url)
        self.init(url: url, hasSidecar: true, descriptor: opened, resumeData: known)
        guard known != nil || byteCount == 0 else { throw ResumeError.notPartial(url) }
    }

    private init(
        url: URL, hasSidecar: Bool, owner: TemporaryFile? = nil, descriptor: Int32, resumeData: ResumeData?
    ) {
        self.url = url
        self.hasSidecar = hasSidecar
        self.owner = owner
        self.descriptor = descriptor
        state = Mutex(State(resumeData: resumeData))
    }

    deinit {
        if descriptor >= 0 { FileLock.close(descriptor) }
    }

    /// Opens and locks a regular file of this user; `nil` when there is no file and `flags` lacks `O_CREAT`.
    private static func open(_ url: URL, flags: Int32) throws -> Int32? {
        BlockingCall.check("open")
        guard url.isFileURL else { throw ResumeError.notPartial(url) }
        while true {
            let descriptor = Descriptors.make {
                Glibc.open(url.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0o600)
            }
            guard descriptor >= 0 else {
                if errno == ENOENT, flags & O_CREAT == 0 { return nil }
                throw ResumeError.unusable(url, underlying: POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO))
            }
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid()
            else {
                close(descriptor)
                throw ResumeError.notPartial(url)
            }
            let isTaken = FileLock.take(descriptor, .exclusive) == .taken
            // The download that had the lock may have moved or removed its file: the file at the path is then opened
            // again.
            guard FileLock.isFile(descriptor, at: url.path) else {
                FileLock.close(descriptor)
                continue
            }
            if isTaken { return descriptor }
            close(descriptor)
            throw ResumeError.inUse(url)
        }
    }

    /// The length of the file at this moment.
    var byteCount: Int64 {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? Int64(status.st_size) : 0
    }

    /// How many bytes of the file are valid, or why none are.
    var usableByteCount: Result<Int64, NotUsable> {
        let length = byteCount
        guard let known = resumeData, length > 0 else { return .failure(.init(reason: .fileMissing)) }
        guard known.validator != nil else { return .failure(.init(reason: .noValidator)) }
        let count = known.byteCount ?? length
        guard count > 0, count <= length, count <= known.expectedByteCount ?? .max else {
            return .failure(.init(reason: .fileMissing))
        }
        return .success(count)
    }

    /// Why no byte of a file is valid.
    struct NotUsable: Error {
        var reason: Resumption.Reason
    }

    private func unlock() {
        let wasLocked = state.withLock { state in
            defer { state.isLocked = false }
            return state.isLocked
        }
        if wasLocked { FileLock.release(descriptor) }
    }

    // MARK: Before and after the bytes

    /// Prepares the file for writing from `offset` on; called off the event loop, before the first write.
    ///
    /// - Parameters:
    ///   - offset: where the bytes begin; the file is cut there.
    ///   - content: the resume data of the representation that the bytes belong to.
    ///   - stripped: returns the resume data without the parts that the sidecar must not have.
    /// - Throws: `FileFailure` when the file or its sidecar cannot be written.
    func prepare(offset: Int64, content: ResumeData?, stripped: (ResumeData) -> ResumeData) throws {
        if hasSidecar, fchmod(descriptor, 0o600) != 0 { throw FileFailure.current(.write, url) }
        guard ftruncate(descriptor, off_t(offset)) == 0 else { throw FileFailure.current(.write, url) }
        let isOther = state.withLock { state in
            defer { state.resumeData = content }
            return offset == 0 || state.resumeData?.validator != content?.validator
        }
        guard hasSidecar, isOther, let content else { return }
        try FileInstaller.writePrivately(stripped(content).data, to: Self.sidecar(of: url))
    }

    /// Replaces the URL from a sidecar, which lacks the secrets, by the URL of the request.
    func restore(_ url: URL) {
        state.withLock { state in
            state.resumeData?.url = url
            state.resumeData?.urlDigest = nil
        }
    }

    /// The resume data after `byteCount` bytes; `nil` when a later download cannot continue.
    func resumeData(byteCount: Int64) -> ResumeData? {
        guard byteCount > 0, var data = resumeData, data.validator != nil else { return nil }
        data.byteCount = byteCount
        return data
    }

    /// Gives a complete file with a sidecar, which stays at its path, the mode of new files.
    func publish() {
        if hasSidecar { fchmod(descriptor, FileMode.ofNewFiles) }
    }

    /// Records that the file is complete and at its destination, and removes the sidecar.
    func complete() {
        state.withLock { state in
            state.resumeData = nil
            state.isComplete = true
        }
        // Another download may have made a new file at the path that this file was moved from: that file needs the
        // sidecar.
        guard hasSidecar, access(url.path, F_OK) != 0 || FileLock.isFile(descriptor, at: url.path) else { return }
        unlink(Self.sidecar(of: url).path)
    }

    /// Unlocks the file for other downloads; a file at a path of the caller is removed if it is still empty.
    func release() {
        let isNothing = state.withLock { !$0.isComplete && $0.resumeData == nil } && hasSidecar && byteCount == 0
        if isNothing { unlink(url.path) }
        unlock()
    }

    /// Reads the resume data from a file's sidecar; `nil` when there is no sidecar.
    ///
    /// Throws `ResumeError.notPartial` for another file at that path: a symbolic link, a file of another user, and
    /// content that is no resume data. Such a file is neither followed nor replaced.
    private static func readSidecar(of url: URL) throws -> ResumeData? {
        BlockingCall.check("lstat")
        let sidecar = sidecar(of: url)
        var status = stat()
        guard lstat(sidecar.path, &status) == 0 else { return nil }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
            let data = (try? FileContent.read(sidecar)).flatMap({ try? ResumeData($0) })
        else { throw ResumeError.notPartial(sidecar) }
        return data
    }

    static func sidecar(of url: URL) -> URL {
        url.appendingPathExtension("resume")
    }
}
