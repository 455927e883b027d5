// Downloads that continue an earlier download.

import FireweedTransport
public import Foundation
import FoundationNetworking
import Synchronization

extension DownloadRequest {
    /// The resume data of a download that ended early, for a later download.
    ///
    /// `nil` while the request runs, after a success and after a plain `cancel()`. See ``ResumeData`` for the form. A
    /// temporary partial file exists for ten days after its last change, whether the resume data is read or not.
    public var resumeData: Data? { receiver.produced?.data }

    /// Whether a resumed download continued, or why it started again.
    ///
    /// `nil` until this is known, at the latest when the response comes, and for downloads without earlier content.
    public var resumption: Resumption? { receiver.content.withLock { $0.resumption } }

    /// Writes to a partial file of the caller's choice, so that a later download can continue even after this process
    /// was killed.
    ///
    /// Call it before the request is resumed, and only for `GET`. If the file already holds a part of the content, only
    /// the rest is requested, on condition that the server still has the same representation. A second file, with
    /// `.resume` appended to the name, holds the `ResumeData`, without the secrets of fields and URL; it is removed
    /// when the download is complete. Until then, both files can be read by this user only.
    /// The partial file stays when the download fails or is cancelled, and a retry continues it. A complete file is
    /// moved to the request's destination; without a destination it stays.
    ///
    /// A file that is not a download's partial file is not changed: the request fails with `ResumeError.notPartial`.
    /// Written content survives the end of the process; after a crash of the machine, the guarantees of the file system
    /// apply.
    ///
    /// - Parameters:
    ///   - partialFile: a partial file, which must be a regular file of this user, or a path where no file exists yet.
    ///   - options: `.createIntermediateDirectories` makes the folders above the partial file; the other options have
    ///     no effect here. No options by default.
    /// - Returns: the request.
    @discardableResult
    public func resumable(at partialFile: URL, options: Options = []) -> Self {
        receiver.content.withLock { content in
            content.place = partialFile
            content.makesFolders = options.contains(.createIntermediateDirectories)
        }
        return self
    }

    /// Writes incoming content to a hidden file beside `file`, so that the move to a destination in the same folder is
    /// one rename.
    ///
    /// The hidden file is named `.name.….part`. It is removed when the download fails, unless a cancel asks for resume
    /// data. A hidden file of a process that was killed is removed when the next download beside the same `file`
    /// starts. A symbolic link at `file` is followed. Where `file` is a device or a pipe, the content is in a temporary
    /// folder, as without this call. A folder or a socket at `file` fails the request when the hidden file is made.
    /// Call this method before the request is resumed; `resumable(at:options:)` has precedence.
    @discardableResult
    public func staged(beside file: URL) -> Self {
        receiver.content.withLock { $0.sibling = file }
        return self
    }
}

extension AFError {
    /// The resume data in the error of a download that failed; `nil` in other errors.
    public var downloadResumeData: Data? {
        (underlyingError as? URLError)?.userInfo[ProducedResumeData.dataKey] as? Data
    }
}

extension ProducedResumeData {
    /// The key of the partial file's owner in an error's `userInfo`: the partial file exists as long as the error.
    static let ownerKey = "FireweedPartialFile"

    /// Apple's key for resume data in an error's `userInfo`; Foundation on Linux has no constant for the key.
    static let dataKey = "NSURLSessionDownloadTaskResumeData"

    /// The error with this resume data in its `userInfo`, as with Apple's URLSession.
    func added(to error: URLError) -> URLError {
        var info = error.userInfo
        info[Self.dataKey] = data
        info[Self.ownerKey] = owner
        return URLError(error.code, userInfo: info)
    }
}
