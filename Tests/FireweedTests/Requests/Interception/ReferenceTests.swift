import Fireweed
import Foundation
import FoundationNetworking
import Testing

/// What a library of mocks asks of requests, in Alamofire's words.
private protocol Described {
    func cURLDescription() -> String
    func cURLDescription(calling handler: @escaping @Sendable (String) -> Void) -> Self
    func cURLDescription(on queue: DispatchQueue, calling handler: @escaping @Sendable (String) -> Void) -> Self
}

extension Request: Described {}

/// Declarations that have more parameters here than in Alamofire have a form with Alamofire's alone.
@Suite("References to declarations by Alamofire's names")
struct ReferenceTests {
    private func described(_ request: some Described) -> String { request.cURLDescription() }

    @Test("retry policies and their short names")
    func retryPolicies() {
        let policy = RetryPolicy.init(
            retryLimit:exponentialBackoffBase:exponentialBackoffScale:retryableHTTPMethods:retryableHTTPStatusCodes:
            retryableURLErrorCodes:)
        #expect(policy(5, 2, 1, [.get], [500], [.timedOut]).retryLimit == 5)
        let lost = ConnectionLostRetryPolicy.init(
            retryLimit:exponentialBackoffBase:exponentialBackoffScale:retryableHTTPMethods:)
        #expect(lost(3, 2, 1, [.get]).retryableURLErrorCodes == [.networkConnectionLost])
        let short: RetryPolicy = .retryPolicy(retryLimit: 4)
        let refined: RetryPolicy = .retryPolicy(retryLimit: 4, options: RetryOptions(jitter: .full))
        #expect(short.retryLimit == 4 && refined.retryLimit == 4)
        let shortLost: ConnectionLostRetryPolicy = .connectionLostRetryPolicy(retryLimit: 1)
        #expect(shortLost.retryLimit == 1)
    }

    @Test("the cURL description is the witness of a protocol without further parameters")
    func curl() {
        let session = Session(transport: ScriptedTransport { _ in [] })
        let request = session.request("https://h.example/")
        #expect(described(request).hasPrefix("$ curl command could not"))
        let describe: (Request) -> () -> String = Request.cURLDescription
        #expect(describe(request)() == request.cURLDescription(secrets: .shown))
    }
}
