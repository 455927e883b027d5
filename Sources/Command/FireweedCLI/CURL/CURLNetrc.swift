// Credentials of a netrc file, for a curl command.

import CommandLanguage
import Fireweed
import Foundation

/// The file that a curl command takes credentials from.
struct CURLNetrc: Sendable, Equatable {
    /// `nil` for the user's.
    var file: String?
    /// Whether credentials of the URL are taken instead of the file's.
    var isOptional = false

    /// `USER:PASSWORD` for a host; throws `UsageError` for a file that cannot be understood.
    ///
    /// `user` is the one that the URL names: only an entry of that user, or without one, is for it. An entry without a
    /// login has an empty user.
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

    /// The entries; `nil` without a file that can be read.
    func read() throws -> Netrc? {
        do {
            if let file { return try Netrc(contentsOf: URL(fileURLWithPath: file)) }
            return try Netrc.ofUser()
        } catch NetrcError.unreadable {
            // curl sends the request without one.
            return nil
        } catch {
            throw UsageError(message: error.plainText)
        }
    }
}
