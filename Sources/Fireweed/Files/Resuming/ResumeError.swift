// Reasons why a download cannot continue.

public import Foundation

/// Why a download cannot continue a partial file; the files on disk are not changed.
///
/// The error is inside `AFError.createURLRequestFailed(error:)`: nothing has been sent. A changed representation, a
/// server without ranges and a missing partial file are not errors: the download starts again, and
/// `DownloadRequest.resumption` says why.
public enum ResumeError: Error, Sendable {
    /// The bytes are not resume data of this library, or are damaged; the text says what is wrong.
    case unreadable(String)
    /// The resume data is of a later version of the library; the number is its version.
    case unsupportedVersion(Int)
    /// Only `GET` can continue a partial file (RFC 9110 §14.2).
    case unsupportedMethod(String)
    /// Another download is writing the partial file at this moment, in this process or another.
    case inUse(URL)
    /// The file at the place of the partial file is not a download's partial file.
    case notPartial(URL)
    /// The partial file cannot be opened; the underlying error is a `POSIXError`, or the error of `FileManager` when
    /// the file's folders cannot be made.
    case unusable(URL, underlying: any Error)
}

extension ResumeError: LocalizedError {
    /// One sentence about what is wrong, and what to try.
    public var errorDescription: String? {
        switch self {
        case .unreadable(let reason): "This is no resume data: \(reason)."
        case .unsupportedVersion(let version):
            "The resume data has version \(version), and this library knows version \(ResumeData.version)."
        case .unsupportedMethod(let method): "A \(method) request cannot go on from a partial file; only GET can."
        case .inUse(let url): "Another download is writing \(url.path) at this moment."
        case .notPartial(let url):
            "A file is in the way at \(url.path) that no download has left there; move it, or choose another place."
        case .unusable(let url, let error):
            "The partial file \(url.path) cannot be opened: \(FileFailure.text(of: error))."
        }
    }
}

/// Whether a download continued a partial file.
public enum Resumption: Sendable, Hashable {
    /// The download continued after this many bytes of the partial file.
    case continued(offset: Int64)
    /// The download starts from its first byte again.
    case startedAgain(Reason)

    /// Why a download starts again.
    public enum Reason: Sendable, Hashable {
        /// The partial file was missing, or was changed after the earlier download.
        case fileMissing
        /// There is no strong validator for the partial file, so that a change of the representation would not be
        /// noticed.
        case noValidator
        /// The validator or the length differs from the saved value (RFC 9110 §13.1.5).
        case representationChanged
        /// The whole representation came, or a range other than the requested one (RFC 9110 §14.2).
        case rangeIgnored
        /// The server refused the range (RFC 9110 §15.5.17).
        case rangeNotSatisfiable
        /// The content has a content coding, so that its ranges count coded bytes (RFC 9110 §14.1).
        case contentCoding
    }
}
