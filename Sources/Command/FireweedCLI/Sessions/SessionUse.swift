// A named session while a run uses it.

import Fireweed
import Foundation

/// The session that `--session` names: read at the start, and written at the end.
struct SessionUse: Sendable {
    private let file: SessionFile?
    private let isWritten: Bool
    /// The session as it was read.
    private var loaded: SavedSession
    /// The session with the run's changes, except those of cookies.
    private(set) var saved: SavedSession

    /// Reads the session of an invocation, or makes an empty one that is not kept; throws `UsageError`.
    init(_ invocation: Invocation) throws {
        file = try invocation.sessionName.map { try SessionFile(name: $0) }
        isWritten = !invocation.keepsSessionUnchanged && !invocation.isOffline
        loaded = try file?.load() ?? SavedSession()
        saved = loaded
    }

    /// The session to restore at the start of the run; `nil` without a file.
    var restored: SavedSession? { file == nil ? nil : saved }

    /// Reads the restored cookies back from the run's storage: if the storage changes their form, that is no change to
    /// save.
    mutating func begin(with cookies: HTTPCookieStorage?) {
        if file != nil { loaded.takeCookies(from: cookies) }
    }

    /// Returns the credentials for a URL: `given`, which the session then keeps, or the credentials in the session.
    ///
    /// Without a file nothing is kept, so that credentials of one URL are not used for another.
    mutating func authentication(_ given: Authentication?, for url: URL) -> Authentication? {
        guard let given else { return saved.authentication(for: url) }
        if file != nil { saved.set(given, for: url) }
        return given
    }

    /// Adds the session's fields for a URL, except those whose names are in `own`, in lower case.
    func addFields(for url: URL, to headers: inout HTTPHeaders, unless own: Set<String>) {
        guard saved.fields != nil else { return }
        let kept = Dictionary(grouping: saved.fields(for: url), by: { $0.name.lowercased() })
        for (name, fields) in kept where !own.contains(name) {
            headers.update(name: fields[0].name, value: fields.map(\.value).joined(separator: ", "))
        }
    }

    /// Returns the value of a `Cookie` field: the session's cookies for a URL, without those that the user's field
    /// `own` names, and then `own`.
    func cookieField(_ own: String, for url: URL) -> String {
        let names = own.split(separator: ";").map { pair in
            pair.prefix { $0 != "=" }.trimmingCharacters(in: .whitespaces)
        }
        let kept = saved.storedCookies.filter { $0.isMeant(for: url) && !names.contains($0.name) }
            .sorted { $0.path.count > $1.path.count }
        return (kept.map { $0.name.isEmpty ? $0.value : "\($0.name)=\($0.value)" } + [own]).joined(separator: "; ")
    }

    /// Writes the session with the storage's cookies, and with the fields of a command line for its URL, if given.
    ///
    /// Returns the failure in words, `nil` on success.
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
