// Cookies that outlive the process.

import FireweedTransport
public import Foundation
public import FoundationNetworking
import Synchronization

/// Stores cookies in a file that only its owner can read (mode 0600).
///
/// The file is read once, when the object is made. Cookies of a response are in the file before the response is
/// delivered. Only one process should use a file at the same time: each write replaces the whole file.
///
/// ```swift
/// let cookies = try CookieFile(at: folder.appendingPathComponent("cookies.json"))
/// let configuration = URLSessionConfiguration.af.default
/// configuration.httpCookieStorage = cookies.storage
/// let session = Session(configuration: configuration)
/// ```
public final class CookieFile: @unchecked Sendable {
    // SAFETY: the storage synchronises itself; all properties are constant.
    private let store: CookieStore
    private let writer: CookieFileWriter

    /// The file.
    public let url: URL

    /// The cookies, in memory; for the `httpCookieStorage` of configurations.
    public var storage: HTTPCookieStorage { store.storage }

    /// Reads a file, if there is one.
    ///
    /// - Parameters:
    ///   - url: the file. Its folder is made, with mode 0700, when the first cookie is stored.
    ///   - keepsSessionCookies: whether cookies without an expiry are written too; false by default, as in browsers.
    /// - Throws: `CocoaError` when the file cannot be read, `DecodingError` when it holds something else.
    public init(at url: URL, keepsSessionCookies: Bool = false) throws {
        self.url = url
        guard let storage = URLSessionConfiguration.ephemeral.httpCookieStorage else {
            preconditionFailure("Foundation's ephemeral configuration has a cookie storage")
        }
        writer = CookieFileWriter(url: url.resolvingSymlinksInPath(), keepsSessionCookies: keepsSessionCookies)
        for cookie in try writer.load() { storage.setCookie(cookie) }
        store = CookieStore.of(storage)
        store.attach(writer)
    }

    /// Writes the file now; needed when code has added cookies to the storage or removed cookies from it.
    public func save() throws {
        try writer.save(storage)
    }

    /// Why the file could not be written after the last response with cookies; `nil` when it was written.
    public var lastError: (any Error)? { writer.lastError }
}

/// Reads and writes the file of a ``CookieFile``.
final class CookieFileWriter: Sendable {
    private let url: URL
    private let keepsSessionCookies: Bool
    private let failure = Mutex<(any Error)?>(nil)

    init(url: URL, keepsSessionCookies: Bool) {
        self.url = url
        self.keepsSessionCookies = keepsSessionCookies
    }

    var lastError: (any Error)? { failure.withLock { $0 } }

    /// The cookies of the file that have not expired; none when there is no file.
    func load() throws -> [HTTPCookie] {
        guard FileManager.default.fileExists(atPath: url.path) else { return [] }
        return try CookieFileContent.cookies(
            in: FileContent.read(url), now: Date(), keepsSessionCookies: keepsSessionCookies)
    }

    /// Saves, and keeps the error for `lastError`, or `nil` after a success.
    func saveChanges(of storage: HTTPCookieStorage) {
        let error: (any Error)?
        do {
            try save(storage)
            error = nil
        } catch let failed {
            error = failed
        }
        failure.withLock { $0 = error }
    }

    /// Replaces the file atomically, so that the file is complete at every moment.
    func save(_ storage: HTTPCookieStorage) throws {
        let data = try CookieFileContent.data(
            of: storage.cookies ?? [], now: Date(), keepsSessionCookies: keepsSessionCookies)
        let folder = url.deletingLastPathComponent()
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        do {
            try FileInstaller.writePrivately(data, to: url)
        } catch let failure as FileFailure {
            throw failure.cocoaError
        }
    }
}
