import Foundation
import Testing

@testable import Fireweed

private struct Refused: Error {}
private typealias State = RefreshState<String, Int, Int>

/// What a state can have been through before it is asked.
enum Past: CaseIterable {
    case idle, withoutCredential, failed, refreshingForAdapt, refreshingForRetry
}

/// What a state is asked.
enum Question: CaseIterable {
    case adaptFresh, adaptDue, adaptReplaced, retryCurrent, retryReplaced
}

extension Past {
    fileprivate var state: State {
        var state = State(credential: self == .withoutCredential ? nil : "first", limit: nil)
        switch self {
        case .idle, .withoutCredential: break
        case .failed:
            _ = state.adapt(1, requiresRefresh: true, version: 0, now: 0)
            _ = state.end(1, .failure(Refused()))
        case .refreshingForAdapt: _ = state.adapt(1, requiresRefresh: true, version: 0, now: 0)
        case .refreshingForRetry: _ = state.retry(1, version: 0, now: 0)
        }
        return state
    }
}

extension State {
    fileprivate mutating func answer(_ question: Question) -> String {
        switch question {
        case .adaptFresh: name(adapt(2, requiresRefresh: false, version: 0, now: 1))
        case .adaptDue: name(adapt(2, requiresRefresh: true, version: 0, now: 1))
        case .adaptReplaced: name(adapt(2, requiresRefresh: false, version: -1, now: 1))
        case .retryCurrent: name(retry(2, version: 0, now: 1))
        case .retryReplaced: name(retry(2, version: -1, now: 1))
        }
    }

    private func name(_ answer: AdaptAnswer) -> String {
        switch answer {
        case .apply(let credential): "apply \(credential)"
        case .wait: "wait"
        case .begin: "begin"
        case .fail(let error): "\(error)"
        case .lookAgain: "look again"
        }
    }

    private func name(_ answer: RetryAnswer) -> String {
        switch answer {
        case .retry: "retry"
        case .wait: "wait"
        case .begin: "begin"
        case .fail(let error): error is Refused ? "refused" : "\(error)"
        }
    }
}

@Suite("Credential refresh state")
struct RefreshStateTests {
    @Test(
        "every question in every state",
        arguments: [
            (Past.idle, ["apply first", "begin", "look again", "begin", "retry"]),
            (
                .withoutCredential,
                ["missingCredential", "missingCredential", "look again", "missingCredential", "retry"]
            ),
            // The next adapt forgets the failure; a retry meets it.
            (.failed, ["apply first", "begin", "look again", "refused", "retry"]),
            // Nothing that an adapted request waits for is looked at before the refresh ends.
            (.refreshingForAdapt, ["wait", "wait", "wait", "wait", "retry"]),
            // A credential that a server has refused is sent no more, as with Alamofire.
            (.refreshingForRetry, ["wait", "wait", "wait", "wait", "retry"]),
        ])
    func answers(past: Past, expected: [String]) {
        for (question, answer) in zip(Question.allCases, expected) {
            var state = past.state
            #expect(state.answer(question) == answer, "\(question)")
        }
    }

    @Test("an adapt forgets a failed refresh, so that a later retry begins another")
    func failureForgotten() {
        var state = Past.failed.state
        #expect(state.answer(.retryCurrent) == "refused")
        #expect(state.answer(.adaptFresh) == "apply first")
        #expect(state.answer(.retryCurrent) == "begin")
    }

    @Test("everyone who waits is let go once, in order")
    func ending() throws {
        var state = State(credential: "first", limit: nil)
        _ = state.adapt(1, requiresRefresh: true, version: 0, now: 0)
        _ = state.adapt(2, requiresRefresh: true, version: 0, now: 0)
        _ = state.retry(3, version: 0, now: 0)
        let end = state.end(1, .success("second"))
        let ending = try #require(end)
        #expect(ending.adapts == [1, 2] && ending.retries == [3] && ending.error == nil)
        #expect(state.held.credential == "second" && state.held.version == 1)
        #expect(state.end(1, .success("third")) == nil, "a refresh that ends twice")
        #expect(state.held.credential == "second")
    }

    @Test("the end of an earlier refresh does not end a later one")
    func staleEnd() {
        var state = Past.failed.state
        _ = state.adapt(2, requiresRefresh: true, version: 0, now: 0)
        #expect(state.end(1, .success("late")) == nil)
        #expect(state.end(2, .success("right")) != nil)
        #expect(state.held.credential == "right")
    }

    @Test("a credential set from outside wins over a refresh that runs", arguments: [true, false])
    func setMeanwhile(succeeds: Bool) throws {
        var state = Past.refreshingForRetry.state
        state.set(nil)
        let end = state.end(1, succeeds ? .success("revived") : .failure(Refused()))
        let ending = try #require(end)
        #expect(ending.retries == [1] && ending.error == nil)
        #expect(state.held.credential == nil)
    }

    @Test("setting a credential forgets a failed refresh")
    func setAfterFailure() {
        var state = Past.failed.state
        state.set("second")
        if case .begin = state.retry(1, version: 1, now: 0) { return }
        Issue.record("the old failure still stood")
    }

    @Test(
        "refreshes are counted within the window",
        arguments: [
            ([0.0, 1, 2, 3, 4], 5.0, false),  // five within the last 30 s
            ([0, 1, 2, 3, 4], 30, false),  // the first is exactly 30 s old: still within
            ([0, 1, 2, 3, 4], 30.1, true),
            ([0, 1, 2, 3], 5, true),
            ([], 0, true),
        ])
    func history(beginnings: [Double], now: Double, isAdmitted: Bool) {
        var history = RefreshHistory(limit: .init(interval: 30, maximumAttempts: 5))
        for time in beginnings { #expect(history.admit(at: time) == true) }
        #expect(history.admit(at: now) == isAdmitted)
    }

    @Test("a refused beginning is not counted itself, and no limit admits all")
    func historyEdges() {
        var history = RefreshHistory(limit: .init(interval: 10, maximumAttempts: 1))
        #expect(history.admit(at: 0) == true)
        for time in stride(from: 1.0, to: 10, by: 1) { #expect(history.admit(at: time) == false) }
        #expect(history.admit(at: 10.5) == true)
        var none = RefreshHistory(limit: .init(interval: 10, maximumAttempts: 0))
        #expect(none.admit(at: 0) == false)
        var unlimited = RefreshHistory(limit: nil)
        for _ in 0..<1_000 { #expect(unlimited.admit(at: 0) == true) }
    }

    @Test(
        "a request waits for a hundred refreshes in a row where there is no window",
        arguments: [(99, nil, true), (100, nil, false), (100, 1_000, true)] as [(Int, Int?, Bool)])
    func oneRequest(count: Int, window: Int?, isAllowed: Bool) {
        let limit = window.map { RefreshHistory.Limit(interval: 30, maximumAttempts: $0) }
        var state = State(credential: "first", limit: limit)
        var answers = [state.adapt(2, requiresRefresh: true, version: 0, refreshCount: count, now: 0)]
        // Another request has begun a refresh.
        _ = state.adapt(3, requiresRefresh: true, version: 0, now: 0)
        answers.append(state.adapt(2, requiresRefresh: true, version: 0, refreshCount: count, now: 0))
        for answer in answers {
            if case .fail(.excessiveRefresh) = answer { #expect(!isAllowed) } else { #expect(isAllowed) }
        }
    }

    @Test("too many refreshes fail the one who would begin the next", arguments: [Question.adaptDue, .retryCurrent])
    func excess(question: Question) {
        var state = State(credential: "first", limit: .init(interval: 30, maximumAttempts: 0))
        #expect(state.answer(question) == "excessiveRefresh")
        #expect(state.answer(.adaptFresh) == "apply first")
    }
}
