// The clients that are compared.

/// A client.
enum Client: String, Sendable {
    /// Over the scenario's connections; further requests wait in libcurl's list of pending transfers.
    case libcurl
    /// Over as many connections as requests are in flight, so that none waits for a connection.
    case libcurlUnqueued = "libcurl-unqueued"
    /// Sockets and epoll in C, without an HTTP library: the floor.
    case epollLoop = "epoll-loop"
    /// Writes the body to a file.
    case libcurlFile = "libcurl-file"
    /// Reads the content from a file.
    case libcurlUpload = "libcurl-upload"
    case urlSession = "urlsession"
    /// Go's `net/http`, where Go is installed.
    case goNetHTTP = "go-net-http"
    case fireweedData = "fireweed-data"
    /// `fireweedData`, on the thread of the session's event loop.
    case fireweedExecutor = "fireweed-executor"
    case fireweedDecodable = "fireweed-decodable"
    case fireweedClosure = "fireweed-closure"
    /// Measured by a factory that keeps nothing; in a build with the trait `SwiftMetrics` alone.
    case fireweedMetrics = "fireweed-metrics"
    /// Traced by a tracer that records nothing; in a build with the trait `DistributedTracing` alone.
    case fireweedTracing = "fireweed-tracing"
    case fireweedStream = "fireweed-stream"
    case fireweedFile = "fireweed-file"
    case fireweedUploadFile = "fireweed-upload-file"
    /// Every response comes from a `SQLiteResponseStore`; bare libcurl beside it asks the server each time.
    case fireweedSQLite = "fireweed-sqlite"
    /// With 10,000 cookies of other hosts.
    case otherCookies = "fireweed-other-cookies"
    /// With 50 cookies of the server, and 1,000 of other hosts.
    case ownCookies = "fireweed-own-cookies"
    /// On one core, together with all worker processes of the server.
    case oneCore = "fireweed-one-core"
    case oneLoop = "fireweed-one-loop"
    case twoLoops = "fireweed-two-loops"
    /// `JSONEncoder`, because no other encoder does the same work.
    case foundationJSON = "foundation-json"
    case fireweedEncode = "fireweed-encode"
    /// libcurl's mime API, which is `curl -F`.
    case libcurlForm = "libcurl-form"
    case fireweedMultipart = "fireweed-multipart"
    /// A stub answers, in the process; bare libcurl beside it asks the server.
    case fireweedStub = "fireweed-stub"
    case fireweedWebSocket = "fireweed-websocket"
    case pythonWebSockets = "python-websockets"
    /// The commands, from their start to their end.
    case curlCommand = "curl"
    case fireweedCommand = "fireweed"

    /// Whether other clients are compared with this client.
    var isReference: Bool {
        switch self {
        case .libcurl, .libcurlFile, .libcurlUpload, .libcurlForm, .pythonWebSockets, .curlCommand, .oneCore: true
        default: false
        }
    }
}
