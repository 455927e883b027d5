import Fireweed
import FireweedTesting
import Foundation
import Testing

@Suite("Dates far away", .timeLimit(.minutes(testTimeoutMinutes)))
struct FarDateTests {
    private static let dates: [Date] = [
        .distantFuture, .distantPast, Date(timeIntervalSince1970: 9.3e9), Date(timeIntervalSince1970: -9.3e9),
        Date(timeIntervalSince1970: 1e30),
    ]

    @Test("a session works at a date that has no Int64 of nanoseconds", arguments: dates)
    func works(date: Date) async throws {
        let clock = TestClock(start: date)
        let session = Session.stubbed(clock: clock) { Stub.get("/a").reply(.text("content")) }
        let response = await session.request("https://h.example/a").serializingString().response
        #expect(response.value == "content" && (response.metrics?.taskInterval.duration ?? -1) >= 0)
    }
}
