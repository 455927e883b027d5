// A rule for requests, with its responses.

public import Fireweed
import Foundation

/// An answer to the requests that meet its conditions.
///
/// ```swift
/// Stub.get("/users/{id}").reply { .json(["id": .string($0.parameters["id"] ?? "")]) }
/// Stub.post("/users", .json(["name": "Ada"])).reply(.status(201))
/// Stub.get("/flaky").reply(.status(503), .status(503), .json(["ok": true]))
/// Stub.get("/once").reply(.ok).times(1)
/// ```
///
/// Of several stubs that match, the first one answers; a stub whose number of ``times(_:)`` is used up is skipped. A
/// stub without `reply` answers with an empty 200.
public struct Stub: Sendable, CustomStringConvertible {
    /// The method; `nil` for every method.
    public let method: HTTPMethod?
    /// The pattern of the URLs that the stub answers.
    public let url: URLPattern
    /// The further conditions, all of which have to be met.
    public private(set) var matchers: [RequestMatcher]
    /// The number of requests that the stub answers; `nil`, the default, is unlimited.
    public private(set) var limit: Int?
    private(set) var answer = Answer.sequence([.ok])
    private(set) var isWebSocket = false
    private(set) var isOptional = false
    /// The number of recorded exchanges with which this stub answers; 0 for a stub that is not from a recording.
    private(set) var exchangeCount = 0
    /// The place among the stubs that answer in order; `nil` for a stub that answers at any time.
    private(set) var place: OrderPosition?

    /// A position in an order of stubs; each ``Stubs`` keeps its own progress in the order.
    struct OrderPosition: Sendable, Hashable {
        /// The identity of the order.
        let order: UUID
        let number: Int
    }

    enum Answer: Sendable {
        /// The responses one after the other; the last one repeats.
        case sequence([MockResponse])
        case closure(@Sendable (RecordedRequest) throws -> MockResponse)
    }

    /// Makes a stub, which answers with an empty 200 unless `reply` sets another answer.
    ///
    /// - Parameters:
    ///   - method: the method; `nil` is every method.
    ///   - url: the URL's pattern.
    ///   - matchers: further conditions; all of them must be met.
    public init(_ method: HTTPMethod?, _ url: URLPattern, _ matchers: RequestMatcher...) {
        self.init(method, url, matchers)
    }

    init(_ method: HTTPMethod?, _ url: URLPattern, _ matchers: [RequestMatcher]) {
        self.method = method
        self.url = url
        self.matchers = matchers
    }

    /// The same stub for HEAD requests; `nil` for a stub that does not answer GET requests.
    package var forHead: Stub? {
        guard method == .get, !isWebSocket else { return nil }
        var stub = Stub(.head, url, matchers)
        stub.answer = answer
        stub.limit = limit
        return stub
    }

    /// A stub for GET requests.
    ///
    /// - Parameters:
    ///   - url: the URL's pattern.
    ///   - matchers: further conditions; all of them must be met.
    /// - Returns: the stub.
    public static func get(_ url: URLPattern, _ matchers: RequestMatcher...) -> Stub {
        Stub(.get, url, matchers)
    }
    /// A stub for HEAD requests.
    ///
    /// - Parameters:
    ///   - url: the URL's pattern.
    ///   - matchers: further conditions; all of them must be met.
    /// - Returns: the stub.
    public static func head(_ url: URLPattern, _ matchers: RequestMatcher...) -> Stub {
        Stub(.head, url, matchers)
    }
    /// A stub for POST requests.
    ///
    /// - Parameters:
    ///   - url: the URL's pattern.
    ///   - matchers: further conditions; all of them must be met.
    /// - Returns: the stub.
    public static func post(_ url: URLPattern, _ matchers: RequestMatcher...) -> Stub {
        Stub(.post, url, matchers)
    }
    /// A stub for PUT requests.
    ///
    /// - Parameters:
    ///   - url: the URL's pattern.
    ///   - matchers: further conditions; all of them must be met.
    /// - Returns: the stub.
    public static func put(_ url: URLPattern, _ matchers: RequestMatcher...) -> Stub {
        Stub(.put, url, matchers)
    }
    /// A stub for PATCH requests.
    ///
    /// - Parameters:
    ///   - url: the URL's pattern.
    ///   - matchers: further conditions; all of them must be met.
    /// - Returns: the stub.
    public static func patch(_ url: URLPattern, _ matchers: RequestMatcher...) -> Stub {
        Stub(.patch, url, matchers)
    }
    /// A stub for DELETE requests.
    ///
    /// - Parameters:
    ///   - url: the URL's pattern.
    ///   - matchers: further conditions; all of them must be met.
    /// - Returns: the stub.
    public static func delete(_ url: URLPattern, _ matchers: RequestMatcher...) -> Stub {
        Stub(.delete, url, matchers)
    }
    /// A stub for requests of every method.
    ///
    /// - Parameters:
    ///   - url: the URL's pattern; every URL by default.
    ///   - matchers: further conditions; all of them must be met.
    /// - Returns: the stub.
    public static func any(_ url: URLPattern = "**", _ matchers: RequestMatcher...) -> Stub {
        Stub(nil, url, matchers)
    }

    // MARK: Answers

    /// Answers with these responses, one after the other; the last one answers all later requests too.
    ///
    /// When one of the answers is a WebSocket, a stub with a method matches only requests for a WebSocket, and its
    /// other answers refuse to open one.
    public func reply(_ responses: MockResponse...) -> Stub {
        reply(responses: responses)
    }

    func reply(responses: [MockResponse]) -> Stub {
        changed {
            $0.answer = .sequence(responses)
            if method != nil, responses.contains(where: { $0.webSocket != nil }) { $0.isWebSocket = true }
        }
    }

    /// Answers each request with the response that a closure makes.
    ///
    /// - Parameter make: called on the transport's queue or the thread of a server's connection; it must not wait. When
    ///   it throws, a stubbed session's request fails with the error; a ``MockServer`` answers 501.
    /// - Returns: the stub with this answer.
    public func reply(_ make: @escaping @Sendable (RecordedRequest) throws -> MockResponse) -> Stub {
        changed { $0.answer = .closure(make) }
    }

    /// Answers `count` requests, and none after that; `expectAllCalled()` then expects exactly that number.
    public func times(_ count: Int) -> Stub {
        changed { $0.limit = max(0, count) }
    }

    /// Makes the stub optional: `expectAllCalled()` does not require a call.
    public func optional() -> Stub {
        changed { $0.isOptional = true }
    }

    /// Marks the stub as made from `count` exchanges of a recording, and as optional.
    func recorded(_ count: Int) -> Stub {
        changed {
            $0.exchangeCount = count
            $0.isOptional = true
        }
    }

    private func changed(_ change: (inout Stub) -> Void) -> Stub {
        var copy = self
        change(&copy)
        return copy
    }

    // MARK: WebSockets

    /// A stub that opens a WebSocket, and plays the server's part of the conversation.
    ///
    /// ```swift
    /// Stub.webSocket("/chat") { socket in
    ///     socket.send("welcome")
    ///     for try await message in socket.messages { socket.send(message) }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - url: the URL's pattern; `ws` and `wss`, or `http` and `https`.
    ///   - matchers: further conditions on the request of the opening handshake.
    ///   - subprotocol: the subprotocol that is chosen; `nil`, the default, chooses none.
    ///   - script: runs in a task of its own for each WebSocket. The WebSocket closes with 1000 when the script
    ///     returns, and fails when it throws. The script is cancelled when the client is gone.
    /// - Returns: the stub.
    public static func webSocket(
        _ url: URLPattern, _ matchers: RequestMatcher..., subprotocol: String? = nil,
        script: @escaping @Sendable (MockWebSocket) async throws -> Void
    ) -> Stub {
        Stub(.get, url, matchers).changed {
            $0.isWebSocket = true
            $0.answer = .sequence([.webSocket(subprotocol: subprotocol, script: script)])
        }
    }

    /// The same stub, limited to requests for a WebSocket, with these answers one after the other.
    func opening(_ responses: [MockResponse]) -> Stub {
        changed {
            $0.isWebSocket = true
            $0.answer = .sequence(responses)
        }
    }

    /// The same stub, limited to one answer, after the earlier stubs in an order have answered.
    func once(_ place: OrderPosition) -> Stub {
        changed {
            $0.limit = 1
            $0.place = place
        }
    }

    /// Method and pattern.
    public var description: String {
        "\(isWebSocket ? "WebSocket" : method?.rawValue ?? "any method") \(url)"
    }
}

/// Collects the stubs that a closure lists.
@resultBuilder
public enum StubsBuilder {
    /// One stub.
    public static func buildExpression(_ stub: Stub) -> [Stub] { [stub] }
    /// Several stubs.
    public static func buildExpression(_ stubs: [Stub]) -> [Stub] { stubs }
    /// The stubs of all expressions, in order.
    public static func buildBlock(_ stubs: [Stub]...) -> [Stub] { stubs.flatMap(\.self) }
    /// The stubs of an `if` without `else`.
    public static func buildOptional(_ stubs: [Stub]?) -> [Stub] { stubs ?? [] }
    /// The stubs of the first branch.
    public static func buildEither(first stubs: [Stub]) -> [Stub] { stubs }
    /// The stubs of the other branch.
    public static func buildEither(second stubs: [Stub]) -> [Stub] { stubs }
    /// The stubs of a loop.
    public static func buildArray(_ stubs: [[Stub]]) -> [Stub] { stubs.flatMap(\.self) }
}
