// A named session while a run uses it.

import Fireweed
import Foundation

/// The session that `--session` names: read at the start, and written at the end.
struct SessionUse: Sendable {
    private let file: SessionFile?
    private let isWritten: Bool
    /// The session as it was read.
    private var loaded: SavedSession
    /// The session as the run leaves it, apart from its cookies.
    private(set) var saved: SavedSession

    /// Reads the session of an invocation, or makes an empty one that is not kept; throws `UsageError`.
    init(_ invocation: Invocation) throws {
        file = try invocation.sessionName.map { try SessionFile(name: $0) }
        isWritten = !invocation.keepsSessionUnchanged && !invocation.isOffline
        loaded = try file?.load() ?? SavedSession()
        saved = loaded
    }

    /// The state that the run's storage begins with; `nil` without a file.
    var restored: SavedSession? { file == nil ? nil : saved }

    /// Takes the cookies as the run's storage has them: it may write a restored cookie in another way.
    mutating func begin(with cookies: HTTPCookieStorage?) {
        if file != nil { loaded.takeCookies(from: cookies) }
    }

    /// The credentials for a URL: given ones, which are kept, or those that the session has.
    ///
    /// Without a file, credentials of one URL are not for another one.
    mutating func authentication(_ given: Authentication?, for url: URL) -> Authentication? {
        guard let given else { return saved.authentication(for: url) }
        if file != nil { saved.set(given, for: url) }
        return given
    }

    /// Adds the fields that the session has for a URL; those in `own`, in lower case, win.
    func addFields(for url: URL, to headers: inout HTTPHeaders, unless own: Set<String>) {
        guard saved.fields != nil else { return }
        let kept = Dictionary(grouping: saved.fields(for: url), by: { $0.name.lowercased() })
        for (name, fields) in kept where !own.contains(name) {
            headers.update(name: fields[0].name, value: fields.map(\.value).joined(separator: ", "))
        }
    }

    /// The value of a `Cookie` field of the user's own, behind the cookies that the session has for a URL and that the
    /// field does not name.
    func cookieField(_ own: String, for url: URL) -> String {
        let names = own.split(separator: ";").map { pair in
            pair.prefix { $0 != "=" }.trimmingCharacters(in: .whitespaces)
        }
        let kept = saved.storedCookies.filter { $0.isMeant(for: url) && !names.contains($0.name) }
        return (kept.map { "\($0.name)=\($0.value)" } + [own]).joined(separator: "; ")
    }

    /// Writes the session with the storage's cookies, and with the fields of a command line where it has one URL.
    ///
    /// Returns what is wrong where the file cannot be written, in words.
    func keep(_ cookies: HTTPCookieStorage?, _ fields: (lines: [Field], url: URL)? = nil) -> String? {
        guard let file, isWritten else { return nil }
        var saved = saved
        saved.takeCookies(from: cookies)
        if let fields { saved.keep(fields.lines, for: fields.url) }
        do {
            try file.save(from: loaded, to: saved)
            return nil
        } catch {
            return "the session file \(file.url.path) cannot be written: \(error.plainText)"
        }
    }
}
