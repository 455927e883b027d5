// The clients that are compared.

/// A client of the benchmarks: a library with a way to use it, or a command.
enum Client: String, Sendable {
    /// Uses the scenario's number of connections; further requests wait in libcurl's list of pending transfers.
    case libcurl
    /// Uses as many connections as requests are in flight, so that no request waits for a connection.
    case libcurlUnqueued = "libcurl-unqueued"
    /// Sockets and epoll in C, without an HTTP library: the least work that the requests need.
    case epollLoop = "epoll-loop"
    /// Writes the body to a file.
    case libcurlFile = "libcurl-file"
    /// Uploads a file.
    case libcurlUpload = "libcurl-upload"
    case urlSession = "urlsession"
    /// Go's `net/http`, where Go is installed.
    case goNetHTTP = "go-net-http"
    case fireweedData = "fireweed-data"
    /// Like `fireweedData`, with tasks that run on the thread of the session's event loop.
    case fireweedExecutor = "fireweed-executor"
    case fireweedDecodable = "fireweed-decodable"
    case fireweedClosure = "fireweed-closure"
    /// Reports metrics to a factory that keeps nothing; needs a build with the trait `SwiftMetrics`.
    case fireweedMetrics = "fireweed-metrics"
    /// Reports spans to a tracer that records nothing; needs a build with the trait `DistributedTracing`.
    case fireweedTracing = "fireweed-tracing"
    case fireweedStream = "fireweed-stream"
    case fireweedFile = "fireweed-file"
    case fireweedUploadFile = "fireweed-upload-file"
    /// Takes every response from a `SQLiteResponseStore`; its reference, libcurl, asks the server each time.
    case fireweedSQLite = "fireweed-sqlite"
    /// Has 10,000 cookies of other hosts in its storage.
    case otherCookies = "fireweed-other-cookies"
    /// Has 50 cookies of the server and 1,000 of other hosts in its storage.
    case ownCookies = "fireweed-own-cookies"
    /// Runs on one core, which the server's worker processes share.
    case oneCore = "fireweed-one-core"
    case oneLoop = "fireweed-one-loop"
    case twoLoops = "fireweed-two-loops"
    /// `JSONEncoder`, the reference for `fireweedEncode`, since Foundation has no encoder of forms.
    case foundationJSON = "foundation-json"
    case fireweedEncode = "fireweed-encode"
    /// libcurl's mime API, which `curl -F` uses.
    case libcurlForm = "libcurl-form"
    case fireweedMultipart = "fireweed-multipart"
    /// Takes every response from a stub in the process; its reference, libcurl, asks the server.
    case fireweedStub = "fireweed-stub"
    case fireweedWebSocket = "fireweed-websocket"
    case pythonWebSockets = "python-websockets"
    /// The commands, from their start to their end.
    case curlCommand = "curl"
    case fireweedCommand = "fireweed"

    /// Whether the report compares other clients with this client, which `BENCH_ONLY` therefore never leaves out.
    var isReference: Bool {
        switch self {
        case .libcurl, .libcurlFile, .libcurlUpload, .libcurlForm, .pythonWebSockets, .curlCommand, .oneCore: true
        default: false
        }
    }
}
