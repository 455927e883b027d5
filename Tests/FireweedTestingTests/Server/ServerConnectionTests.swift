import FireweedTesting
import Foundation
import Testing

/// The versions of TLS, the certificates of clients, and what a request knows of its connection.
@Suite("Connections of mock servers", .timeLimit(.minutes(testTimeoutMinutes)))
struct ServerConnectionTests {
    typealias Demand = MockServer.TLSOptions.ClientCertificates

    private func start(_ tls: MockServer.TLSOptions, http2: Bool = false) throws -> MockServer {
        try MockServer.start(tls: tls, http2: http2) { Stub.any().reply(.text("fine")) }
    }

    private func session(
        for server: MockServer, _ identity: ClientIdentity? = nil, _ change: (inout TransportOptions) -> Void = { _ in }
    ) -> Session {
        var options = server.transportOptions
        options.clientIdentity = identity
        change(&options)
        return Session(configuration: .af.ephemeral, transportOptions: options)
    }

    @Test(
        "a client's certificate is ignored, asked for or demanded, and stands in the request",
        arguments: [Demand.ignored, .requested, .required], [false, true])
    func clientCertificates(demand: Demand, hasHTTP2: Bool) async throws {
        let server = try start(MockServer.TLSOptions(clientCertificates: demand), http2: hasHTTP2)
        let nobody = session(for: server)
        let unknown = await nobody.request(server.url()).serializingString().response
        #expect((unknown.value == "fine") == (demand != .required), "\(String(describing: unknown.error))")
        if demand != .required { #expect(try await server.takeRequest().connection?.clientCertificate == nil) }
        let earlierCount = server.connectionCount
        let ada = session(for: server, try server.makeClientIdentity(name: "Ada"))
        for _ in 0..<2 {
            let text = try await ada.request(server.url()).serializingString().value
            let connection = try #require(try await server.takeRequest().connection)
            #expect(text == "fine" && connection.httpVersion == (hasHTTP2 ? "HTTP/2" : "HTTP/1.1"))
            #expect(connection.clientCertificate?.subject == (demand == .ignored ? nil : "CN = Ada"))
            #expect(connection.number == earlierCount + 1 && connection.tlsVersion == .tls13)
        }
        // The session's ticket of TLS is known to the server.
        server.closeConnections()
        #expect(try await ada.request(server.url()).serializingString().value == "fine")
        let connection = try await server.takeRequest().connection
        #expect(connection?.number == earlierCount + 2)
        #expect(connection?.clientCertificate?.subject == (demand == .ignored ? nil : "CN = Ada"))
    }

    @Test("a certificate of another authority is no client's", arguments: [Demand.requested, .required])
    func strangers(demand: Demand) async throws {
        let (server, other) = (try start(MockServer.TLSOptions(clientCertificates: demand)), try start(.init()))
        let stranger = session(for: server, try other.makeClientIdentity())
        let error = await stranger.request(server.url()).serializingString().response.error
        #expect(error?.isSessionDeinitializedError == false)
        #expect(server.stubs.requests.isEmpty)
    }

    @Test(
        "the server accepts its versions of TLS alone",
        arguments: [TLSVersion.tls10, .tls11, .tls12, .tls13], [TLSVersion.tls10, .tls11, .tls12, .tls13])
    func versions(server version: TLSVersion, client other: TLSVersion) async throws {
        let server = try start(MockServer.TLSOptions(versions: version...version))
        let client = session(for: server) {
            ($0.minimumTLSVersion, $0.maximumTLSVersion) = (other, other)
            // The oldest versions sign with SHA-1.
            $0.cipherList = "DEFAULT@SECLEVEL=0"
        }
        let response = await client.request(server.url()).serializingString().response
        #expect((response.value == "fine") == (version == other), "\(String(describing: response.error))")
        #expect(server.stubs.requests.map { $0.connection?.tlsVersion } == (version == other ? [version] : []))
    }

    @Test("in clear text a connection has a number and a version of HTTP, and no TLS")
    func clearText() async throws {
        let server = try MockServer.start { Stub.any() }
        for version in ["1.1", "1.0"] {
            let text = "GET / HTTP/\(version)\r\nHost: a\r\nConnection: close\r\n\r\n"
            _ = await RawClient.send(Data(text.utf8), to: server.port)
        }
        let connections = server.stubs.requests.compactMap(\.connection)
        #expect(connections.map(\.number) == [1, 2] && connections.map(\.httpVersion) == ["HTTP/1.1", "HTTP/1.0"])
        #expect(connections.allSatisfy { $0.tlsVersion == nil && $0.clientCertificate == nil })
        #expect(throws: MockServerError.self) { try server.makeClientIdentity() }
        let session = Session.stubbed { Stub.any() }
        _ = await session.request("https://api.example.com").serializingData().response
        #expect(session.stubs.requests.map(\.connection) == [nil])
    }

    @Test("the files of a client's identity go with the server")
    func files() throws {
        var server: MockServer? = try start(.init())
        let identity = try #require(try server?.makeClientIdentity(name: "Ada"))
        #expect(try identity.certificates.map(\.subject) == ["CN = Ada"])
        server = nil
        #expect(throws: ClientIdentityError.self) { try identity.validate() }
    }
}
