// Credentials of a netrc file, for a curl command.

import CommandLanguage
import Fireweed
import Foundation

/// The file that a curl command takes credentials from.
struct CURLNetrc: Sendable, Equatable {
    /// The path of the file; `nil` for the file that `Netrc.ofUser()` reads.
    var file: String?
    /// Whether credentials in the URL take precedence over the file (`--netrc-optional`).
    var isOptional = false

    /// Returns `USER:PASSWORD` for a host; throws `UsageError` for a file that cannot be parsed.
    ///
    /// `user` is the URL's user: only an entry with this login, or without a login, matches. If neither the URL nor the
    /// entry names a user, the user is empty. `nil` without a matching entry, and for a file that cannot be read.
    func credentials(forHost host: String, user: String?) throws -> String? {
        guard let netrc = try read() else { return nil }
        let host = CanonicalHost.identity(of: host)
        let entry = netrc.entries.first { entry in
            guard entry.machine.map({ CanonicalHost.identity(of: $0) == host }) ?? true else { return false }
            return user == nil || entry.login == nil || entry.login == user
        }
        guard let entry else { return nil }
        return "\(user ?? entry.login ?? ""):\(entry.password ?? "")"
    }

    /// Returns the parsed file; `nil` if it cannot be read; throws `UsageError` if it cannot be parsed.
    func read() throws -> Netrc? {
        do {
            if let file { return try Netrc(contentsOf: URL(fileURLWithPath: file)) }
            return try Netrc.ofUser()
        } catch NetrcError.unreadable {
            // If the file cannot be read, curl sends the request without credentials.
            return nil
        } catch {
            throw UsageError(message: error.plainText)
        }
    }
}
