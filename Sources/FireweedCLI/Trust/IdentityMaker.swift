// Who the command is, for servers that ask.

import Fireweed
import Foundation

/// Makes the client identity of an invocation.
enum IdentityMaker {
    /// The identity, read once to see whether it can be; `nil` when none is asked for.
    ///
    /// Throws `UsageError`.
    static func identity(for invocation: Invocation) throws -> ClientIdentity? {
        guard let text = invocation.certificateFile else { return nil }
        let (file, given) = invocation.keyPassphrase == nil ? split(text) : (text, nil)
        let passphrase = given ?? invocation.keyPassphrase
        let url = URL(fileURLWithPath: file)
        let isArchive = ["p12", "pfx"].contains(url.pathExtension.lowercased())
        let identity =
            switch invocation.certificateType ?? (isArchive ? .p12 : .pem) {
            case .p12: ClientIdentity(pkcs12: url, passphrase: passphrase ?? "")
            case .pem:
                ClientIdentity(
                    certificate: url, privateKey: invocation.keyFile.map { URL(fileURLWithPath: $0) } ?? url,
                    passphrase: passphrase)
            }
        do {
            try identity.validate()
        } catch {
            throw UsageError(message: "the client certificate cannot be used: \(error)")
        }
        return identity
    }

    /// What follows the last colon is a passphrase, unless there is a file of the whole name.
    private static func split(_ text: String) -> (file: String, passphrase: String?) {
        guard !FileManager.default.fileExists(atPath: text), let colon = text.lastIndex(of: ":") else {
            return (text, nil)
        }
        return (String(text[..<colon]), String(text[text.index(after: colon)...]))
    }
}
