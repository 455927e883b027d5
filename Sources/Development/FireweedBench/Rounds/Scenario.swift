// The list of scenarios.

/// A resource, the number of requests for it, the number in flight at the same time (`window`), and the clients.
struct Scenario: Sendable {
    /// The server of a scenario.
    enum Server: Sendable {
        case nginx
        /// nginx over TLS, with HTTP/2.
        case secureNginx
        /// nginx with two worker processes.
        case twoWorkers
        /// A fixture server that counts the bytes of uploads.
        case sink
        /// A WebSocket server that sends messages back.
        case echo
        /// A server that answers after five seconds.
        case slow
    }

    let name: String
    let server: Server
    let path: String
    let count: Int
    let window: Int
    let clients: [Client]
    /// Maximum connections to the server; the default is that of `URLSessionConfiguration`.
    var connections = 6
    /// The size of a message, for scenarios over a WebSocket; 0 for all others.
    var messageByteCount = 0

    static let all: [Scenario] =
        [
            Scenario(
                name: "json-64", server: .nginx, path: "/small", count: 48_000, window: 64,
                clients: [
                    .libcurl, .libcurlUnqueued, .epollLoop, .urlSession, .goNetHTTP, .fireweedData, .fireweedDecodable,
                    .fireweedClosure,
                ]),
            Scenario(
                name: "json-1", server: .nginx, path: "/small", count: 10_000, window: 1,
                clients: [
                    .libcurl, .urlSession, .fireweedData, .fireweedExecutor, .fireweedDecodable, .fireweedClosure,
                ]),
            Scenario(
                name: "h2-64", server: .secureNginx, path: "/small", count: 48_000, window: 64,
                clients: [.libcurl, .fireweedData]),
            Scenario(
                name: "cache-hit", server: .nginx, path: "/small-fresh", count: 48_000, window: 64,
                clients: [.libcurl, .fireweedSQLite]),
            Scenario(
                name: "cache-hit-1", server: .nginx, path: "/small-fresh", count: 10_000, window: 1,
                clients: [.libcurl, .fireweedSQLite]),
            Scenario(
                name: "cookies", server: .nginx, path: "/small", count: 48_000, window: 64,
                clients: [.libcurl, .fireweedData, .otherCookies, .ownCookies]),
            Scenario(
                name: "cookies-1", server: .nginx, path: "/small", count: 10_000, window: 1,
                clients: [.libcurl, .fireweedData, .otherCookies, .ownCookies]),
            Scenario(
                name: "stub", server: .nginx, path: "/small", count: 48_000, window: 64,
                clients: [.libcurl, .fireweedStub]),
            Scenario(
                name: "stub-1", server: .nginx, path: "/small", count: 10_000, window: 1,
                clients: [.libcurl, .fireweedStub]),
            Scenario(
                name: "body-1g", server: .nginx, path: "/1g", count: 1, window: 1,
                clients: [.libcurl, .urlSession, .fireweedStream, .libcurlFile, .fireweedFile]),
            Scenario(
                name: "upload-1g", server: .sink, path: "/upload", count: 1, window: 1,
                clients: [.libcurlUpload, .fireweedUploadFile]),
            Scenario(
                name: "form-encode", server: .nginx, path: "/", count: 20_000, window: 1,
                clients: [.foundationJSON, .fireweedEncode]),
            Scenario(
                name: "multipart-1g", server: .sink, path: "/upload", count: 1, window: 1,
                clients: [.libcurlForm, .fireweedMultipart]),
            Scenario(
                name: "multipart-2g", server: .sink, path: "/upload", count: 1, window: 1,
                clients: [.libcurlForm, .fireweedMultipart]),
            Scenario(
                name: "in-flight-10k", server: .slow, path: "/", count: 10_000, window: 10_000,
                clients: [.libcurl, .fireweedData], connections: 10_000),
            Scenario(
                name: "cold-start", server: .nginx, path: "/small", count: 50, window: 1,
                clients: [.curlCommand, .fireweedCommand]),
            Scenario(
                name: "ws-echo", server: .echo, path: "", count: 10_000, window: 1,
                clients: [.pythonWebSockets, .fireweedWebSocket], messageByteCount: 64),
            Scenario(
                name: "ws-bulk", server: .echo, path: "", count: 16_384, window: 16_384,
                clients: [.pythonWebSockets, .fireweedWebSocket], messageByteCount: 65_536),
        ]
        + growth.map { window in
            Scenario(
                name: "growth-\(window)", server: .nginx, path: "/small", count: window == 1 ? 10_000 : 40_960,
                window: window, clients: [.libcurl, .fireweedData])
        }
        + [
            Scenario(
                name: "loops", server: .twoWorkers, path: "/small", count: 48_000, window: 64,
                clients: [.oneCore, .oneLoop, .twoLoops], connections: 32)
        ]

    /// The numbers of requests in flight for the scenarios `growth-N`, which show how the cost of a request grows.
    static let growth = [1, 8, 64, 512, 4096]

    /// The client with which `client` is compared.
    func reference(of client: Client) -> Client {
        client == .fireweedFile || client == .libcurlFile ? .libcurlFile : clients[0]
    }

    static func named(_ name: String) -> Scenario? {
        all.first { $0.name == name }
    }

    /// Returns the scenario with `count` requests; `nil` changes nothing.
    func limited(to count: Int?) -> Scenario {
        Scenario(
            name: name, server: server, path: path, count: count ?? self.count, window: window, clients: clients,
            connections: connections, messageByteCount: messageByteCount)
    }
}
