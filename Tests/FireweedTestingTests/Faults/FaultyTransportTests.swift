import FireweedTesting
import Foundation
import Testing

@Suite("Trouble on purpose", .timeLimit(.minutes(patience)))
struct FaultyTransportTests {
    private func outcomes(seed: UInt64, faults: [FaultyTransport.Fault: Double]) async -> [String] {
        let stubs = StubTransport { Stub.any().reply(.text("content")) }
        let session = Session(
            transport: FaultyTransport(wrapping: stubs, faults: faults, seed: seed, isPrinted: false))
        var outcomes: [String] = []
        for _ in 0..<40 {
            let response = await session.request("\(api)/").serializingData(emptyResponseCodes: [503])
                .response
            let error = response.error?.underlyingError as? URLError
            outcomes.append(
                error.map { "\($0.code.rawValue)" } ?? "\(response.response?.statusCode ?? 0)")
        }
        return outcomes + ["\(stubs.stubs.requests.count)"]
    }

    @Test("a seed gives the same faults again")
    func repeatable() async {
        let faults: [FaultyTransport.Fault: Double] = [
            .drop: 0.2, .status(503): 0.2, .cut: 0.2, .duplicate: 0.2,
        ]
        let first = await outcomes(seed: 7, faults: faults)
        #expect(await outcomes(seed: 7, faults: faults) == first)
        #expect(await outcomes(seed: 8, faults: faults) != first)
        #expect(
            Set(first).isSuperset(of: ["200", "503", "\(URLError.Code.networkConnectionLost.rawValue)"]))
    }

    @Test("each fault does what it says")
    func kinds() async {
        let lost = "\(URLError.Code.networkConnectionLost.rawValue)"
        let all = { (outcome: String, count: Int) in Array(repeating: outcome, count: 40) + ["\(count)"]
        }
        #expect(await outcomes(seed: 1, faults: [.drop: 1]) == all(lost, 0))
        #expect(await outcomes(seed: 1, faults: [.status(503): 1]) == all("503", 0))
        #expect(await outcomes(seed: 1, faults: [.cut: 1]) == all(lost, 40))
        #expect(await outcomes(seed: 1, faults: [.delay(.milliseconds(1)): 1]) == all("200", 40))
        #expect(await outcomes(seed: 1, faults: [:]) == all("200", 40))
    }

    @Test("a retry policy brings requests through a bad network")
    func soak() async throws {
        let stubs = StubTransport(clock: TestClock.automatic) { Stub.any().reply(.text("content")) }
        let faulty = FaultyTransport(
            wrapping: stubs, faults: [.drop: 0.3, .status(503): 0.2], seed: 3, isPrinted: false)
        let session = Session(transport: faulty, interceptor: RetryPolicy(retryLimit: 20))
        for _ in 0..<30 {
            #expect(
                try await session.request("\(api)/").validate().serializingString().value == "content")
        }
    }
}
