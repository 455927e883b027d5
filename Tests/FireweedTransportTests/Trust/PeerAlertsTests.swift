import COpenSSL
import FixtureServer
import Foundation
import Glibc
import Testing

@testable import FireweedTransport

/// A client and a server of OpenSSL's, joined by sockets.
@Suite("Alerts that end a connection")
struct PeerAlertsTests {
    private let clientContext: OpaquePointer
    private let serverContext: OpaquePointer
    private let gallery: CertificateGallery

    init() throws {
        gallery = try CertificateGallery.shared
        OpenSSLLibrary.initialise()
        clientContext = try #require(SSL_CTX_new(TLS_client_method()))
        serverContext = try #require(SSL_CTX_new(TLS_server_method()))
        let identity = ClientIdentity(certificate: gallery.server.certificate, privateKey: gallery.server.key)
        try LoadedIdentity(identity).install(on: serverContext)
    }

    @Test("the alert that refuses a client after its handshake is read from a connection that was reset")
    func certificateRequired() throws {
        SSL_CTX_set_verify(serverContext, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
        var sockets: [Int32] = [-1, -1]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &sockets) == 0)
        let alerts = PeerAlerts()
        alerts.install(on: UnsafeMutableRawPointer(clientContext))
        let client = try #require(SSL_new(clientContext))
        let server = try #require(SSL_new(serverContext))
        SSL_set_fd(client, sockets[0])
        SSL_set_fd(server, sockets[1])
        SSL_set_connect_state(client)
        SSL_set_accept_state(server)
        for _ in 0..<8 where SSL_is_init_finished(client) != 1 {
            SSL_do_handshake(client)
            SSL_do_handshake(server)
        }
        #expect(SSL_is_init_finished(client) == 1 && alerts.fatal == nil)
        SSL_do_handshake(server)  // the server finds that there is no certificate
        ERR_clear_error()
        alerts.readRest(from: try #require(OpenedSocket(sockets[0])))
        #expect(alerts.fatal == nil, "the server has not closed: other streams may wait for what comes next")
        SSL_free(server)
        close(sockets[1])
        let (reader, writer) = (SSL_get_rbio(client), SSL_get_wbio(client))
        alerts.readRest(from: try #require(OpenedSocket(sockets[0])))
        #expect(
            alerts.fatal?.urlErrorCode == .clientCertificateRequired && alerts.fatal?.text == "certificate required")
        #expect(SSL_get_rbio(client) == reader && SSL_get_wbio(client) == writer && ERR_peek_error() == 0)
        SSL_free(client)
        SSL_CTX_free(clientContext)
        SSL_CTX_free(serverContext)
        // The connection is gone: nothing of it is touched.
        alerts.readRest(from: try #require(OpenedSocket(sockets[0])))
        close(sockets[0])
    }
}
