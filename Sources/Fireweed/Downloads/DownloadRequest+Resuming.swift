// Downloads that continue where an earlier one ended.

import FireweedTransport
public import Foundation
import FoundationNetworking
import Synchronization

extension DownloadRequest {
    /// The resume data of a download that ended early, for a later download; reading it keeps a temporary partial file.
    ///
    /// `nil` while the request runs, after a success and after a plain `cancel()`. See `ResumeData` for the form.
    public var resumeData: Data? { receiver.produced?.taken }

    /// Whether a resumed download continued, or why it started again; `nil` before the response, and for plain
    /// downloads.
    public var resumption: Resumption? { receiver.content.withLock { $0.resumption } }

    /// Writes to a partial file at a place of the caller's choice, so that a later download can continue even when this
    /// process is killed.
    ///
    /// Call it before the request is resumed; only for `GET`. When the file holds a part already, the server is asked
    /// for the rest alone, on condition that it still has the same representation. A second file with `.resume`
    /// appended to its name holds the `ResumeData`, without credentials; it is removed when the download is complete.
    /// The partial file stays when the download fails or is cancelled, and a retry continues it. A complete file is
    /// moved to the request's destination; without a destination it stays.
    ///
    /// A file at that place that is not a download's partial file is not touched: the request fails with
    /// `ResumeError.notPartial`. Written content survives the end of the process; after a crash of the machine, the
    /// guarantees of the file system apply.
    ///
    /// - Parameters:
    ///   - partialFile: the partial file, a regular file of this user or nothing yet.
    ///   - options: `.createIntermediateDirectories` makes the folders above the partial file; other options mean
    ///     nothing here.
    @discardableResult
    public func resumable(at partialFile: URL, options: Options = []) -> Self {
        receiver.content.withLock { content in
            content.place = partialFile
            content.makesFolders = options.contains(.createIntermediateDirectories)
        }
        return self
    }

    /// Writes the content beside `file` while it comes, so that the move to a destination in the same folder is one
    /// rename.
    ///
    /// The content has a hidden name, `.name.….part`, and goes when the download fails. A file of a process that was
    /// killed goes when the next download beside the same `file` starts. A link at `file` is followed. Where `file` is
    /// a device or a pipe, the content is in a temporary folder, as without this call. A folder or a socket at `file`
    /// fails the request when content comes. To be called before the request is resumed; `resumable(at:options:)` has
    /// precedence.
    @discardableResult
    public func staged(beside file: URL) -> Self {
        receiver.content.withLock { $0.sibling = file }
        return self
    }
}

extension AFError {
    /// The resume data in the error of a download that failed; reading it keeps the partial file.
    public var downloadResumeData: Data? {
        guard let error = underlyingError as? URLError else { return nil }
        (error.userInfo[ProducedResumeData.ownerKey] as? OwnedFile)?.take()
        return error.userInfo[ProducedResumeData.dataKey] as? Data
    }
}

extension ProducedResumeData {
    /// The key of the partial file's owner in an error's `userInfo`: the file lives as long as the error.
    static let ownerKey = "FireweedPartialFile"

    /// Apple's key for resume data in an error's `userInfo`; Foundation has no constant for it here.
    static let dataKey = "NSURLSessionDownloadTaskResumeData"

    /// The error with this in it, as Apple's URLSession puts it there.
    func added(to error: URLError) -> URLError {
        var info = error.userInfo
        info[Self.dataKey] = data
        info[Self.ownerKey] = owner
        return URLError(error.code, userInfo: info)
    }
}
