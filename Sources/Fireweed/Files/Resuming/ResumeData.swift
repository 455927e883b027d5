// Resume data: what a download can continue from, as a value and as bytes.

public import Foundation
import JSONTape

/// Everything that a later download needs to continue an earlier one, in this process or another.
///
/// Its encoded form (`data`) is what `DownloadRequest.resumeData` returns and `Session.download(resumingWith:)` takes:
/// a JSON object with these members. Readers ignore unknown members.
///
/// | member | value |
/// |---|---|
/// | `fireweedResumeData` | the version, 1 |
/// | `url` | the URL that was asked for, before redirects |
/// | `urlDigest` | only in a `.resume` file: SHA-256 of the URL whose secrets are missing in `url` |
/// | `headers` | the request's own fields, as pairs of name and value |
/// | `entityTag` | the strong `ETag` of the representation |
/// | `lastModified` | without `entityTag`: the `Last-Modified`, if it is a strong validator |
/// | `byteCount` | how many bytes of the file are valid; without this member, all |
/// | `expectedByteCount` | the length of the representation, if it is known |
/// | `file` | the path of the partial file |
///
/// Protect resume data as you protect the request: the fields may hold credentials, and a download writes to the file
/// that the data names.
public struct ResumeData: Sendable, Hashable {
    /// The validator of a representation (RFC 9110 §8.8); always a strong one.
    public enum Validator: Sendable, Hashable {
        /// An `ETag`, quotes included.
        case entityTag(String)
        /// A `Last-Modified`, as the server wrote it.
        case lastModified(String)

        /// The value for `If-Range`.
        var fieldValue: String {
            switch self {
            case .entityTag(let value), .lastModified(let value): value
            }
        }
    }

    /// The version that this library writes, and the latest that it reads.
    public static let version = 1

    /// The URL that was asked for, before redirects.
    public var url: URL
    /// The request's own fields; the fields for resuming, such as `Range`, are added when the request is sent.
    public var headers: HTTPHeaders
    /// The representation's strong validator; without one the download starts again.
    public var validator: Validator?
    /// How many bytes of the file are valid; `nil` for all.
    public var byteCount: Int64?
    /// The length of the whole representation in bytes; `nil` where it is not known.
    public var expectedByteCount: Int64?
    /// The partial file.
    public var file: URL
    /// The SHA-256 digest of the whole URL when `url` lacks the URL's secrets; else `nil`.
    var urlDigest: String?

    /// Makes resume data.
    ///
    /// - Parameters:
    ///   - url: the URL that was asked for, before redirects.
    ///   - headers: the request's own fields; none by default.
    ///   - validator: the representation's strong validator; with `nil` the download starts again.
    ///   - byteCount: how many bytes of the file are valid; `nil`, the default, for all.
    ///   - expectedByteCount: the length of the whole representation in bytes; `nil`, the default, where it is not
    ///     known.
    ///   - file: the partial file.
    public init(
        url: URL, headers: HTTPHeaders = [:], validator: Validator?, byteCount: Int64? = nil,
        expectedByteCount: Int64? = nil, file: URL
    ) {
        self.url = url
        self.headers = headers
        self.validator = validator
        self.byteCount = byteCount
        self.expectedByteCount = expectedByteCount
        self.file = file
    }
}

// MARK: - Encoding

extension ResumeData {
    /// The members of the JSON object.
    private struct Members: Codable {
        var fireweedResumeData: Int
        var url: String?
        var urlDigest: String?
        var headers: [[String]]?
        var entityTag: String?
        var lastModified: String?
        var byteCount: Int64?
        var expectedByteCount: Int64?
        var file: String?
    }

    /// Decodes the encoded form; throws `ResumeError.unreadable` or `.unsupportedVersion`.
    public init(_ data: Data) throws {
        let members: Members
        do {
            members = try JSONDecoder().decodeWithoutTrap(Members.self, from: data)
        } catch {
            throw ResumeError.unreadable("the bytes are no JSON object with the member fireweedResumeData")
        }
        guard members.fireweedResumeData == Self.version else {
            throw ResumeError.unsupportedVersion(members.fireweedResumeData)
        }
        guard let url = members.url.flatMap({ URL(string: $0) }), ["http", "https"].contains(url.scheme?.lowercased()),
            url.host?.isEmpty == false
        else {
            throw ResumeError.unreadable("its url is none of http or https")
        }
        guard let path = members.file, path.hasPrefix("/"), !path.utf8.contains(0) else {
            throw ResumeError.unreadable("its file is no absolute path")
        }
        guard (members.byteCount ?? 0) >= 0, (members.expectedByteCount ?? 0) >= 0 else {
            throw ResumeError.unreadable("a count of bytes is negative")
        }
        // With `isDirectory: false`, `URL` does not look at the file system.
        self.init(
            url: url, headers: try Self.headers(members.headers ?? []), validator: try Self.validator(members),
            byteCount: members.byteCount, expectedByteCount: members.expectedByteCount,
            file: URL(fileURLWithPath: path, isDirectory: false))
        urlDigest = members.urlDigest
    }

    /// The encoded form.
    public var data: Data {
        var members = Members(
            fireweedResumeData: Self.version, url: url.absoluteString, urlDigest: urlDigest, byteCount: byteCount,
            expectedByteCount: expectedByteCount, file: file.path)
        if !headers.isEmpty { members.headers = headers.map { [$0.name, $0.value] } }
        switch validator {
        case .entityTag(let value): members.entityTag = value
        case .lastModified(let value): members.lastModified = value
        case nil: break
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(members)) ?? Data()  // strings and integers can always be encoded
    }

    private static func headers(_ pairs: [[String]]) throws -> HTTPHeaders {
        try HTTPHeaders(
            pairs.map { pair in
                guard pair.count == 2 else { throw ResumeError.unreadable("a field is no pair of name and value") }
                return HTTPHeader(name: pair[0], value: pair[1])
            })
    }

    private static func validator(_ members: Members) throws -> Validator? {
        if let tag = members.entityTag {
            guard ResumeRules.isStrong(entityTag: tag) else { throw ResumeError.unreadable("its ETag is not strong") }
            return .entityTag(tag)
        }
        guard let date = members.lastModified else { return nil }
        guard HTTPDate.parse(date) != nil else {
            throw ResumeError.unreadable("its Last-Modified is no date")
        }
        return .lastModified(date)
    }
}
