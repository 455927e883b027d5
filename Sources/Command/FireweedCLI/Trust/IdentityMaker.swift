// The client certificate of the command.

import CommandLanguage
import Fireweed
import Foundation

/// Makes the client identity of an invocation.
enum IdentityMaker {
    /// Returns the identity, after a check that its files can be used; `nil` without `--cert`.
    ///
    /// Throws `UsageError`.
    static func identity(for invocation: Invocation) throws -> ClientIdentity? {
        guard let (file, passphrase) = certificate(of: invocation) else { return nil }
        _ = try LocalFile.isRegular(file)
        if let keyFile = invocation.keyFile { _ = try LocalFile.isRegular(keyFile) }
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
            throw UsageError(message: "the client certificate cannot be used: \(Self.text(of: error))")
        }
        return identity
    }

    /// The file of `--cert` and the passphrase of its key; `nil` without the option.
    static func certificate(of invocation: Invocation) -> (file: String, passphrase: String?)? {
        guard let text = invocation.certificateFile else { return nil }
        return invocation.keyPassphrase.map { (text, $0) } ?? split(text)
    }

    private static func text(of error: any Error) -> String {
        switch error as? ClientIdentityError {
        case .unreadableFile(let file, let reason): "\(file.path) cannot be read: \(reason)"
        case .noCertificate(let file): "\(file.path) has no certificate"
        case .noPrivateKey(let file): "\(file.path) has no private key; --key names the file of one"
        case .missingPassphrase(let file): "the key in \(file.path) needs a passphrase (--cert-key-pass)"
        case .wrongPassphrase(let file): "the passphrase does not open \(file.path)"
        case .malformedFile(let file, let reason): "\(file.path) is damaged: \(reason)"
        case .mismatchedKey: "the key is not the certificate's"
        case .refused(let reason): reason
        case nil: "\(error)"
        }
    }

    /// Splits `FILE:PASSPHRASE` at the last colon, unless a file with the whole name exists.
    private static func split(_ text: String) -> (file: String, passphrase: String?) {
        guard !FileManager.default.fileExists(atPath: text), let colon = text.lastIndex(of: ":") else {
            return (text, nil)
        }
        return (String(text[..<colon]), String(text[text.index(after: colon)...]))
    }
}
