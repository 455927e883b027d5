import Testing

@testable import Fireweed

private let reachable = RequestState.reachable

@Suite("The state machine of requests")
struct RequestStateTests {
    @Test(
        "cancelled and finished are final, and nothing goes back to initialized", arguments: RequestState.Event.allCases
    )
    func finalStates(event: RequestState.Event) {
        for state in reachable {
            var next = state
            _ = next.handle(event)
            if state.visible == .cancelled { #expect(next.visible == .cancelled) }
            if state.visible != .initialized { #expect(next.visible != .initialized) }
            if state.visible == .finished && event != .handlerAdded { #expect(next.visible == .finished) }
        }
    }

    @Test("effects on the task come only while there is a task", arguments: RequestState.Event.allCases)
    func taskEffects(event: RequestState.Event) {
        for state in reachable {
            var next = state
            let effects = next.handle(event)
            if effects.contains(.cancelTask) { #expect(state.work == .transferring) }
            // A request that was suspended while it was made suspends its new task.
            if effects.contains(.suspendTask) { #expect(next.work == .transferring) }
            if effects.contains(.resumeTask) { #expect(next.work == .transferring) }
            if effects.contains(.validate) { #expect(next.work == .validating && state.work != .validating) }
            if effects.contains(.make) { #expect(next.isMaking, "made without being in the making") }
        }
    }

    @Test(
        "an attempt is validated once, whatever else happens", arguments: RequestState.Event.allCases,
        RequestState.Event.allCases)
    func validatesOnce(first: RequestState.Event, second: RequestState.Event) {
        var state = RequestState()
        let events: [RequestState.Event] = [
            .resume, .made, first, second, .cancel, .completed, .outcomeDecided, .serialised,
        ]
        let effects = events.map { state.handle($0) }
        let validations = effects.count { $0.contains(.validate) }
        let retries = effects.count { $0.contains(.delayRetry) }
        #expect(validations >= 1 && validations <= 1 + retries)
        #expect(state.visible == .cancelled || state.visible == .finished)
    }

    @Test("a cancelled request is never retried")
    func noRetryAfterCancel() {
        for state in reachable where state.visible == .cancelled {
            var next = state
            #expect(next.handle(.retryGranted) == [])
            #expect(next.handle(.retryDue) == [])
        }
    }

    @Test(
        "the main line, event by event",
        arguments: [
            (RequestState.Event.resume, RequestState.Effects([.announceResume, .make]), Request.State.resumed),
            (.made, .resumeTask, .resumed),
            (.suspend, [.announceSuspend, .suspendTask], .suspended),
            (.resume, [.announceResume, .resumeTask], .resumed),
            (.completed, .validate, .resumed),
            (.retryGranted, .delayRetry, .resumed),
            (.retryDue, .make, .resumed),
            (.made, .resumeTask, .resumed),
            (.completed, .validate, .resumed),
            (.outcomeDecided, .finish, .resumed),
            (.serialised, [], .finished),
            (.handlerAdded, .serialise, .resumed),
            (.serialised, [], .finished),
        ].enumerated().map { (index: $0.offset, row: $0.element) })
    func mainLine(index: Int, row: (RequestState.Event, RequestState.Effects, Request.State)) {
        let events: [RequestState.Event] = [
            .resume, .made, .suspend, .resume, .completed, .retryGranted, .retryDue, .made, .completed, .outcomeDecided,
            .serialised,
            .handlerAdded, .serialised,
        ]
        var state = RequestState()
        for event in events.prefix(index) { _ = state.handle(event) }
        #expect(state.handle(row.0) == row.1)
        #expect(state.visible == row.2)
    }

    @Test("the states that can be reached are as many as the table has")
    func reachableStates() {
        #expect(reachable.count == 24)
    }
}
