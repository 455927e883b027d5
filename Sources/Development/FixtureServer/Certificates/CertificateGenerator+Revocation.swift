// Registers of issued certificates, and the revocation lists and OCSP responses that are made from them.

public import Foundation

extension CertificateGenerator {
    /// Writes an index file in the format of `openssl ca`, from hexadecimal serial numbers.
    public func register(valid: [String], revoked: [String]) throws -> URL {
        let file = folder.file("\(UUID()).register")
        let lines =
            valid.map { "V\t460101000000Z\t\t\($0)\tunknown\t/CN=any\n" }
            + revoked.map { "R\t460101000000Z\t250101000000Z\t\($0)\tunknown\t/CN=any\n" }
        try lines.joined().write(to: file, atomically: true, encoding: .utf8)
        try "unique_subject = no\n".write(
            to: file.appendingPathExtension("attr"), atomically: true, encoding: .utf8)
        return file
    }

    /// Makes an issuer's revocation list in PEM, valid for `days` days; with zero or less, the list is outdated.
    public func revocationList(revoked: [String], by issuer: Issued, days: Int = 7) throws -> URL {
        let (settings, output) = (folder.file("\(UUID()).cnf"), folder.file("\(UUID()).crl"))
        try """
        [ca]
        default_ca = own
        [own]
        database = \(try register(valid: [], revoked: revoked).path)
        default_md = sha256
        """.write(to: settings, atomically: true, encoding: .utf8)
        let times =
            days > 0
            ? ["-crldays", "\(days)"] : ["-crl_lastupdate", "20200101000000Z", "-crl_nextupdate", "20200201000000Z"]
        try run(
            ["ca", "-gencrl", "-config", settings.path, "-cert", issuer.certificate.path, "-keyfile", issuer.key.path]
                + ["-out", output.path] + times)
        return output
    }

    /// Makes an OCSP response in DER about a certificate, as a server staples it.
    public func stapledStatus(
        of certificate: Issued, register: URL, issuer: Issued, signer: Issued? = nil
    ) throws -> URL {
        let (request, response) = (folder.file("\(UUID()).req"), folder.file("\(UUID()).resp"))
        let signer = signer ?? issuer
        try run([
            "ocsp", "-issuer", issuer.certificate.path, "-cert", certificate.certificate.path, "-no_nonce", "-reqout",
            request.path,
        ])
        try run([
            "ocsp", "-index", register.path, "-CA", issuer.certificate.path, "-rsigner", signer.certificate.path,
            "-rkey", signer.key.path, "-reqin", request.path, "-respout", response.path, "-ndays", "1",
        ])
        return response
    }
}
