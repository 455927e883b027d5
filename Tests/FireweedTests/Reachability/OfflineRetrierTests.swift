import Fireweed
import FireweedTesting
import FixtureServer
import Foundation
import Testing

@Suite("Offline retrier", .timeLimit(.minutes(TestTimeouts.minutes)))
struct OfflineRetrierTests {
    /// How often a request to a port of this machine without a server is retried.
    private func retryCount(_ interceptor: any RequestInterceptor) async throws -> Int {
        let session = Session.isolated()
        let request = session.request(try MockServer.refusingURL(), interceptor: interceptor)
        _ = await request.serializingData().response
        return request.retryCount
    }

    @Test("a route that is there already is tried once, if it leads over an interface that counts")
    func types() async throws {
        let wait = DispatchTimeInterval.milliseconds(20)
        let cases: [(any RequestInterceptor, Int)] = [
            (OfflineRetrier(maximumWait: wait) { _ in true }, 1),
            (OfflineRetrier(requiredInterfaceType: .loopback, maximumWait: wait) { _ in true }, 1),
            (OfflineRetrier(requiredInterfaceType: .cellular, maximumWait: wait) { _ in true }, 0),
            (.offlineRetrier(requiredInterfaceType: .wifi, maximumWait: wait) { _ in true }, 0),
            (OfflineRetrier(prohibitedInterfaceTypes: [.loopback], maximumWait: wait) { _ in true }, 0),
            (.offlineRetrier(prohibitedInterfaceTypes: [.cellular, .wifi], maximumWait: wait) { _ in true }, 1),
            (OfflineRetrier(maximumWait: wait), 0),  // a refused connection is not an offline error
        ]
        for (number, (retrier, expected)) in cases.enumerated() {
            #expect(try await retryCount(retrier) == expected, "row \(number)")
        }
        #expect(OfflineRetrier.defaultWait == .seconds(5))
    }
}
