// Certificates from text, files and folders.

public import Foundation

extension Certificate {
    /// Reads the first certificate of a PEM text; throws ``CertificateError``.
    public init(pem: String) throws {
        guard let first = try Self.all(inPEM: pem).first else { throw CertificateError.noCertificateInPEM }
        self = first
    }

    /// Reads the first certificate of a file in DER or PEM; throws ``CertificateError``, which names the file.
    public init(contentsOf url: URL) throws {
        guard let first = try Self.all(contentsOf: url).first else {
            throw CertificateError.malformedFile(url, .noCertificateInPEM)
        }
        self = first
    }

    /// Every certificate of a PEM text, in its order; empty when there is none.
    ///
    /// Throws when one of them is malformed.
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

    /// Every certificate in those files of a folder whose extension is `cer`, `crt` or `der`, in upper or lower case.
    ///
    /// Files come in the order of their names, and a certificate that comes again is left out. Folders inside the
    /// folder are skipped. Throws ``CertificateError`` when the folder or one of those files cannot be read, or when a
    /// file is malformed.
    public static func all(in folder: URL) throws -> [Certificate] {
        try all(in: folder) { bundleExtensions.contains($0.pathExtension.lowercased()) }
    }

    /// The extensions by which certificates are found in a bundle, in lower case.
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

    /// Every certificate of a file in DER or PEM.
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
