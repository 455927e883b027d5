// Reading of certificates from text, files and folders.

public import Foundation

extension Certificate {
    /// Reads the first certificate in a PEM text; throws ``CertificateError``.
    public init(pem: String) throws {
        guard let first = try Self.all(inPEM: pem).first else { throw CertificateError.noCertificateInPEM }
        self = first
    }

    /// Reads the first certificate in a DER or PEM file; throws a ``CertificateError`` that names the file.
    public init(contentsOf url: URL) throws {
        guard let first = try Self.all(contentsOf: url).first else {
            throw CertificateError.malformedFile(url, .noCertificateInPEM)
        }
        self = first
    }

    /// Returns all certificates in a PEM text, in order; empty if there is none.
    ///
    /// Throws ``CertificateError`` if a certificate is malformed.
    ///
    /// Text between the certificates, and PEM of any other kind, is skipped (RFC 7468 §2).
    public static func all(inPEM text: String) throws -> [Certificate] {
        let begin = "-----BEGIN CERTIFICATE-----"
        let end = "-----END CERTIFICATE-----"
        return try text.components(separatedBy: begin).dropFirst().map { block in
            let parts = block.components(separatedBy: end)
            guard parts.count > 1, let der = Data(base64Encoded: parts[0].filter { !$0.isWhitespace }) else {
                throw CertificateError.malformedPEM
            }
            return try Certificate(der: der)
        }
    }

    /// Returns all certificates in the files of a folder that have the extension `cer`, `crt` or `der`, in any case.
    ///
    /// The files are read in the order of their names; duplicate certificates are removed, and subfolders are skipped.
    /// Throws ``CertificateError`` if the folder or one of those files cannot be read, or if a file is malformed.
    public static func all(in folder: URL) throws -> [Certificate] {
        try all(in: folder) { bundleExtensions.contains($0.pathExtension.lowercased()) }
    }

    /// The file extensions of certificates in a bundle, in lower case.
    package static let bundleExtensions: Set<String> = ["cer", "crt", "der"]

    static func all(in folder: URL, where isWanted: (URL) -> Bool) throws -> [Certificate] {
        let files: [URL]
        do {
            files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        } catch {
            throw CertificateError.unreadableFile(folder, reason: error.localizedDescription)
        }
        var seen: Set<Certificate> = []
        return
            try files
            .filter { isWanted($0) && !isFolder($0) }
            .sorted { $0.lastPathComponent < $1.lastPathComponent }
            .flatMap { try all(contentsOf: $0) }
            .filter { seen.insert($0).inserted }
    }

    /// Returns all certificates in a DER or PEM file.
    static func all(contentsOf url: URL) throws -> [Certificate] {
        let bytes: Data
        do {
            bytes = try Data(contentsOf: url)
        } catch {
            throw CertificateError.unreadableFile(url, reason: error.localizedDescription)
        }
        do {
            guard bytes.range(of: Data("-----BEGIN ".utf8)) != nil else { return [try Certificate(der: bytes)] }
            return try all(inPEM: String(decoding: bytes, as: UTF8.self))
        } catch let error as CertificateError {
            throw CertificateError.malformedFile(url, error)
        }
    }

    private static func isFolder(_ url: URL) -> Bool {
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) && isFolder.boolValue
    }
}
