// A server of OpenSSL's in this process, for what servers do only when they are made to.

import COpenSSL
import FireweedTesting
import FixtureServer
import Foundation
import Glibc
import Testing

@testable import FireweedTransport

/// Takes connections on a loopback port, makes the handshake, and plays what a test wants of it.
final class TLSTestServer: Sendable {
    /// The URL at `localhost`.
    let url: URL
    private let descriptors: ServerDescriptors

    /// Starts a server; `play` gets the `SSL` of a connection, on a thread of its own, and `configure` the `SSL_CTX`
    /// before.
    init(
        configure: @escaping @Sendable (OpaquePointer) -> Void = { _ in },
        _ play: @escaping @Sendable (OpaquePointer) -> Void
    ) throws {
        let (listener, port) = try ServerSocket.listen()
        url = try #require(URL(string: "https://localhost:\(port)/"))
        descriptors = ServerDescriptors(listener: listener)
        let testCertificates = try TestCertificates.shared
        let file = testCertificates.server.certificate.deletingPathExtension().appendingPathExtension("\(UUID()).chain")
        try (testCertificates.server.pem + testCertificates.intermediate.pem).write(
            to: file, atomically: true, encoding: .utf8)
        let identity = ClientIdentity(certificate: file, privateKey: testCertificates.server.key)
        descriptors.accept { descriptor in
            {
                // A client that has closed must not end this process.
                var all = sigset_t()
                sigfillset(&all)
                pthread_sigmask(SIG_SETMASK, &all, nil)
                Self.serve(descriptor, identity, configure, play)
            }
        }
    }

    deinit { descriptors.stopListening() }

    private static func serve(
        _ descriptor: Int32, _ identity: ClientIdentity, _ configure: (OpaquePointer) -> Void,
        _ play: (OpaquePointer) -> Void
    ) {
        OpenSSLLibrary.initialise()
        guard let context = SSL_CTX_new(TLS_server_method()) else { return }
        defer { SSL_CTX_free(context) }
        configure(context)
        guard let ssl = SSL_new(context) else { return }
        defer { SSL_free(ssl) }
        guard (try? LoadedIdentity(identity).install(on: ssl)) != nil else { return }
        SSL_set_fd(ssl, descriptor)
        guard SSL_accept(ssl) == 1 else { return }
        play(ssl)
        ERR_clear_error()
    }

    /// Has an `SSL_CTX` choose HTTP/2 of whatever is offered.
    static func chooseHTTP2(_ context: OpaquePointer) {
        SSL_CTX_set_alpn_select_cb(
            context,
            { _, chosen, count, offered, offeredCount, _ in
                guard let offered, let chosen, let count else { return SSL_TLSEXT_ERR_NOACK }
                var place = 0
                while place < Int(offeredCount) {
                    let length = Int(offered[place])
                    if length == 2, offered[place + 1] == 0x68, offered[place + 2] == 0x32 {
                        chosen.pointee = offered + place + 1
                        count.pointee = 2
                        return SSL_TLSEXT_ERR_OK
                    }
                    place += length + 1
                }
                return SSL_TLSEXT_ERR_NOACK
            }, nil)
    }

    /// Reads a head.
    static func readHead(_ ssl: OpaquePointer) -> Bool {
        var text = ""
        var buffer = [UInt8](repeating: 0, count: 4096)
        while !text.hasSuffix("\r\n\r\n") {
            let count = SSL_read(ssl, &buffer, Int32(buffer.count))
            guard count > 0 else { return false }
            text += String(decoding: buffer[..<Int(count)], as: UTF8.self)
        }
        return true
    }

    /// Writes text.
    static func write(_ text: String, to ssl: OpaquePointer) {
        let bytes = Array(text.utf8)
        _ = SSL_write(ssl, bytes, Int32(bytes.count))
    }

    /// Sends a ticket; false when the connection has ended.
    static func sendTicket(_ ssl: OpaquePointer) -> Bool {
        SSL_new_session_ticket(ssl) == 1 && SSL_do_handshake(ssl) == 1
    }
}
