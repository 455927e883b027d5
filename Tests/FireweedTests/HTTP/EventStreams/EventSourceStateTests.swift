import Foundation
import FoundationNetworking
import Testing

@testable import Fireweed

@Suite("Event source reconnection")
struct EventSourceStateTests {
    private func failure(_ code: URLError.Code) -> AFError { .sessionTaskFailed(error: URLError(code)) }

    private func opened(_ rule: ServerSentEvent.Reconnection = .automatic) -> EventSourceState {
        var state = EventSourceState(rule: rule)
        #expect(state.refusal(status: 200, contentType: "text/event-stream") == nil)
        return state
    }

    @Test(
        "content is read when it is an event stream",
        arguments: [
            ("text/event-stream", true), ("text/event-stream; charset=utf-8", true), ("Text/Event-Stream ;x=y", true),
            ("text/plain", false), ("text/event-streams", false), ("", false), (nil, false),
        ])
    func contentTypes(type: String?, isRead: Bool) {
        var state = EventSourceState(rule: .automatic)
        let refusal = state.refusal(status: 200, contentType: type)
        #expect((refusal == nil) == isRead)
        if !isRead { #expect(refusal?.isResponseValidationError == true && state.delay(after: refusal) == nil) }
    }

    @Test(
        "any other status than 200 is the end; 204 without an error",
        arguments: [201, 204, 205, 301, 401, 404, 500, 503])
    func statuses(status: Int) {
        var state = EventSourceState(rule: .automatic)
        let refusal = state.refusal(status: status, contentType: "text/event-stream")
        #expect(refusal?.responseCode == (status == 204 ? nil : status))
        #expect(state.delay(after: refusal) == nil)
    }

    @Test("a stream that ended or failed reconnects after the server's retry time")
    func afterStream() {
        var state = opened()
        #expect(state.delay(after: nil) == .seconds(3))
        _ = state.refusal(status: 200, contentType: "text/event-stream")
        state.wait(.milliseconds(200))
        #expect(state.delay(after: failure(.networkConnectionLost)) == .milliseconds(200))
    }

    @Test("a server that asks for no wait is still not flooded with connections", arguments: [0, 1, 99])
    func floor(milliseconds: Int) {
        var state = opened()
        for _ in 0..<3 {
            state.wait(.milliseconds(milliseconds))
            #expect(state.delay(after: nil) == .milliseconds(100))
            _ = state.refusal(status: 200, contentType: "text/event-stream")
        }
    }

    @Test("failures in a row double the wait, up to the limit, and a stream ends the row")
    func backoff() {
        var state = EventSourceState(rule: .automatic)
        let waits = (0..<7).map { _ in state.delay(after: failure(.cannotConnectToHost)) }
        #expect(waits == [3, 6, 12, 24, 48, 60, 60].map { .seconds($0) })
        _ = state.refusal(status: 200, contentType: "text/event-stream")
        #expect(state.delay(after: nil) == .seconds(3))
        #expect(state.delay(after: failure(.timedOut)) == .seconds(3))
        var eager = EventSourceState(rule: .init(delay: .zero))
        #expect(
            (0..<3).map { _ in eager.delay(after: failure(.timedOut)) } == [
                .zero, .milliseconds(200), .milliseconds(400),
            ])
        var slow = EventSourceState(rule: .init(delay: .seconds(600)))
        #expect(
            (0..<3).map { _ in slow.delay(after: failure(.timedOut)) } == [.seconds(600), .seconds(600), .seconds(600)])
        for _ in 0..<100 { #expect(state.delay(after: failure(.timedOut)) != nil) }
    }

    @Test("so many failures in a row are enough, where a number was given")
    func failureLimit() {
        var state = EventSourceState(rule: .init(maximumFailureCount: 2))
        #expect(state.delay(after: failure(.timedOut)) != nil)
        #expect(state.delay(after: failure(.timedOut)) == nil)
    }

    @Test("what will not pass is the end")
    func final() {
        for error in [
            AFError.explicitlyCancelled, .sessionDeinitialized, failure(.badURL), failure(.serverCertificateUntrusted),
            failure(.httpTooManyRedirects), failure(.dataLengthExceedsMaximum),
            .responseValidationFailed(reason: .unacceptableStatusCode(code: 500)),
        ] {
            var state = opened()
            #expect(state.delay(after: error) == nil)
        }
    }

    @Test("where it is turned off it never happens")
    func never() {
        var state = opened(.never)
        #expect(state.delay(after: nil) == nil)
        #expect(state.delay(after: failure(.networkConnectionLost)) == nil)
    }
}
