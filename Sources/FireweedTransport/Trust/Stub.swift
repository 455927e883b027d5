public import Foundation
public struct Certificate: Sendable, Hashable { var pem: String { "" } }
public struct ServerTrust: Sendable {}
public enum CertificateAuthorities: Sendable { case system, file(URL), folder(URL), certificates([Certificate]) }
public struct ClientIdentity: Sendable {
    enum Source { case pem(URL, URL), pkcs12(URL) }
    var passphrase: String? { nil }
    var source: Source { .pkcs12(URL(fileURLWithPath: "")) }
}
