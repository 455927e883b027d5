// Requests of every kind, for a test that watches the system calls of the event loops.

import Fireweed
import Foundation
import Glibc

/// Makes requests over every way that a session has, with every file that a session can have.
struct WholeWay {
    /// The plan on standard input, as JSON.
    struct Plan: Codable {
        /// A server in clear text, and the same one over TLS with HTTP/2.
        var plain, secure: URL
        /// The server's authority, and a folder that OpenSSL finds the authority in.
        var authority, authorities: URL
        /// The certificate and the key for the server that demands them.
        var certificate, key: URL
        var proxyPort: Int
        /// The path of a server's Unix-domain socket.
        var socket: String
        /// An empty folder, for files of the session and of its requests.
        var folder: URL
    }

    let plan: Plan

    /// Prints a line for each request that failed; the one to an unknown authority has to fail.
    func run() async throws {
        let cookies = try CookieFile(at: file("cookies"))
        let hosts = StrictTransportSecurity(file: file("hosts"))
        let store = try SQLiteResponseStore(url: file("responses"))
        let secure = session(cookies, hosts, store) { options in
            options.certificateAuthorities = .file(plan.authority)
            options.clientIdentity = ClientIdentity(certificate: plan.certificate, privateKey: plan.key)
            options.keyLogFile = file("secrets")
            options.addressOverrides = ["fireweed.example": ["127.0.0.1"]]
        }
        try await exchanges(secure, with: plan.secure)
        try cookies.save()
        try await exchanges(session(cookies, hosts, store), with: plan.plain)
        try await remembered(by: secure)
        try await exchanges(session { $0.unixSocketPath = plan.socket }, with: plan.plain)
        let proxy = Proxy(.http, host: "127.0.0.1", port: plan.proxyPort)
        let proxied = session {
            $0.proxy = proxy
            $0.certificateAuthorities = .folder(plan.authorities)
            $0.httpVersion = .http1Only
            $0.clientIdentity = ClientIdentity(certificate: plan.certificate, privateKey: plan.key)
        }
        // tinyproxy passes no chunks on, and closes the connection after each response.
        await end(proxied.request(url("/get", of: plan.plain)))
        try await exchanges(proxied, with: plan.secure)
        await unknownAuthority()
        guard hosts.applies(to: "fireweed.example"), !(cookies.storage.cookies ?? []).isEmpty else { exit(2) }
    }

    private func file(_ name: String) -> URL { plan.folder.appending(path: name) }

    private func session(
        _ cookies: CookieFile? = nil, _ hosts: StrictTransportSecurity? = nil, _ store: SQLiteResponseStore? = nil,
        _ change: (inout TransportOptions) -> Void = { _ in }
    ) -> Session {
        var options = TransportOptions()
        change(&options)
        let configuration = URLSessionConfiguration.af.ephemeral
        if let cookies { configuration.httpCookieStorage = cookies.storage }
        return Session(
            configuration: configuration, transportOptions: options,
            options: SessionOptions(
                strictTransportSecurity: hosts,
                responseStore: store))
    }

    /// A request of each kind.
    private func exchanges(_ session: Session, with server: URL) async throws {
        await end(session.request(url("/get", of: server)))
        await end(session.request(url("/post", of: server), method: .post, parameters: ["a": "b"]))
        await end(session.request(url("/cookies/set?name=value", of: server)))
        for _ in 0..<2 { await end(session.request(url("/cache/1000", of: server))) }
        try await files(session, server)
        try await streams(session, server)
    }

    private func files(_ session: Session, _ server: URL) async throws {
        let content = file("content.bin")
        try Data(count: 300_000).write(to: content)
        let target = file("downloaded")
        let download = session.download(
            url("/bytes/200000", of: server),
            to: { _, _ in (target, [.removePreviousFile, .createIntermediateDirectories]) })
        report(download, await download.serializingData().response.error)
        await end(session.upload(content, to: url("/upload", of: server)))
        let form = session.upload(
            multipartFormData: { $0.append(content, withName: "content") }, to: url("/parts", of: server),
            usingThreshold: 1000)
        await end(form)
    }

    private func streams(_ session: Session, _ server: URL) async throws {
        let content = file("content.bin")
        if let stream = InputStream(url: content) { await end(session.upload(stream, to: url("/upload", of: server))) }
        let pipe = file("pipe")
        guard mkfifo(pipe.path, 0o600) == 0 else { exit(3) }
        Thread.detachNewThread { try? Data(count: 100_000).write(to: pipe, options: []) }
        await end(session.upload(pipe, to: url("/upload", of: server)))
        unlink(pipe.path)
    }

    /// A host that asks for TLS, then the same host in clear text.
    private func remembered(by session: Session) async throws {
        let field = "/response-headers?Strict-Transport-Security=max-age%3D1000"
        for scheme in ["https", "http"] {
            var parts = URLComponents(url: url(field, of: plan.secure), resolvingAgainstBaseURL: true)
            parts?.host = "fireweed.example"
            parts?.scheme = scheme
            if let url = parts?.url { await end(session.request(url)) }
        }
    }

    /// A server whose authority the system does not know.
    private func unknownAuthority() async {
        let response = await session().request(plan.secure).serializingData().response
        if response.error == nil { exit(4) }
    }

    private func url(_ path: String, of server: URL) -> URL {
        URL(string: path, relativeTo: server)?.absoluteURL ?? server
    }

    private func end(_ request: DataRequest) async {
        report(request, await request.validate().serializingData().response.error)
    }

    private func report(_ request: Request, _ error: AFError?) {
        if let error { print("\(request): \(error)") }
    }
}
