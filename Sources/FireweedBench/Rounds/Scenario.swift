// What is measured.

/// A scenario: what is asked for, how often, and how many at a time.
struct Scenario: Sendable {
    let name: String
    let path: String
    let count: Int
    let window: Int
    let clients: [Client]
    /// The size of a message, for scenarios over a WebSocket; 0 for all others.
    var messageByteCount = 0

    var isWebSocket: Bool { messageByteCount > 0 }

    static let all: [Scenario] = [
        Scenario(
            name: "json-64", path: "/small", count: 48_000, window: 64,
            clients: [.libcurl, .urlSession, .fireweedData, .fireweedDecodable, .fireweedClosure]),
        Scenario(
            name: "json-1", path: "/small", count: 10_000, window: 1,
            clients: [.libcurl, .urlSession, .fireweedData, .fireweedDecodable, .fireweedClosure]),
        Scenario(
            name: "cache-hit", path: "/small-fresh", count: 48_000, window: 64, clients: [.libcurl, .fireweedSQLite]),
        Scenario(
            name: "cache-hit-1", path: "/small-fresh", count: 10_000, window: 1, clients: [.libcurl, .fireweedSQLite]),
        Scenario(
            name: "body-1g", path: "/1g", count: 1, window: 1,
            clients: [.libcurl, .urlSession, .fireweedStream, .fireweedFile]),
        Scenario(
            name: "form-encode", path: "/", count: 20_000, window: 1,
            clients: [.foundationJSON, .fireweedEncode]),
        Scenario(
            name: "multipart-1g", path: "/upload", count: 1, window: 1, clients: [.libcurlForm, .fireweedMultipart]),
        Scenario(
            name: "multipart-2g", path: "/upload", count: 1, window: 1, clients: [.libcurlForm, .fireweedMultipart]),
        Scenario(
            name: "ws-echo", path: "", count: 10_000, window: 1, clients: [.pythonWebSockets, .fireweedWebSocket],
            messageByteCount: 64),
        Scenario(
            name: "ws-bulk", path: "", count: 16_384, window: 16_384, clients: [.pythonWebSockets, .fireweedWebSocket],
            messageByteCount: 65_536),
    ]

    /// What the others are compared with: the bare library.
    var reference: Client { clients[0] }

    static func named(_ name: String) -> Scenario? {
        all.first { $0.name == name }
    }

    /// The same with another number of requests, when one is given.
    func limited(to count: Int?) -> Scenario {
        Scenario(name: name, path: path, count: count ?? self.count, window: window, clients: clients)
    }
}

/// A client: what does the work.
enum Client: String, Sendable {
    case libcurl
    case urlSession = "urlsession"
    case fireweedData = "fireweed-data"
    case fireweedDecodable = "fireweed-decodable"
    case fireweedClosure = "fireweed-closure"
    case fireweedStream = "fireweed-stream"
    case fireweedFile = "fireweed-file"
    /// Every response comes from a `SQLiteResponseStore`; bare libcurl beside it asks the server each time.
    case fireweedSQLite = "fireweed-sqlite"
    /// `JSONEncoder`, for want of another encoder that does the same work.
    case foundationJSON = "foundation-json"
    case fireweedEncode = "fireweed-encode"
    /// libcurl's mime API, which is `curl -F`.
    case libcurlForm = "libcurl-form"
    case fireweedMultipart = "fireweed-multipart"
    case fireweedWebSocket = "fireweed-websocket"
    case pythonWebSockets = "python-websockets"
}
