// The stubs of one session or server, and the received requests.

public import Fireweed
import Foundation
import Synchronization

/// The stubs of a stubbed session or of a server, and the received requests.
///
/// Every method may be called from any thread, also while requests run.
public final class Stubs: Sendable {
    /// A stub, and the number of its answers.
    ///
    /// The count is outside the list of stubs, so that requests can read the list without copying it.
    final class Entry: Sendable {
        let stub: Stub
        private let count = Atomic(0)

        init(_ stub: Stub) {
            self.stub = stub
        }

        var callCount: Int { count.load(ordering: .acquiring) }
        var isUsedUp: Bool { stub.limit.map { callCount >= $0 } ?? false }

        /// Counts a call, and returns the number of earlier calls; `nil` when the stub is used up.
        func use() -> Int? {
            var known = callCount
            while true {
                if let limit = stub.limit, known >= limit { return nil }
                let (isCounted, found) = count.weakCompareExchange(
                    expected: known, desired: known + 1, ordering: .acquiringAndReleasing)
                if isCounted { return known }
                known = found
            }
        }
    }

    struct State: Sendable {
        var entries: [Entry] = []
        var requests: [RecordedRequest] = []
        var unmatched: [UnmatchedRequestError] = []
        /// The number of `requests` that `takeRequest` has returned.
        var takenCount = 0
        var takers: [RequestTaker] = []
    }

    let state: Mutex<State>
    /// Whether another transport sends the requests that no stub matches; they are then not recorded as unmatched.
    private let allowsUnmatched: Bool
    /// Whether requests are kept.
    let keepsHistory: Bool

    /// Removes secrets from the texts of errors.
    private let redaction: Redaction

    /// Makes a list; `names` are further fields, in lower case, whose values errors do not show.
    package init(
        _ stubs: [Stub], allowsUnmatched: Bool = false, keepsHistory: Bool = true, hiding names: Set<String> = []
    ) {
        redaction = .standard.hiding(fields: names)
        self.allowsUnmatched = allowsUnmatched
        self.keepsHistory = keepsHistory
        var first = State()
        first.entries = stubs.map { Entry($0) }
        state = Mutex(first)
    }

    // MARK: Changes

    /// Adds stubs after the existing ones: the new stubs answer requests that the others do not answer.
    public func add(@StubsBuilder _ stubs: () -> [Stub]) {
        let added = stubs().map { Entry($0) }
        state.withLock { $0.entries += added }
    }

    /// Adds stubs before the existing ones: the new stubs answer first.
    public func override(@StubsBuilder _ stubs: () -> [Stub]) {
        let added = stubs().map { Entry($0) }
        state.withLock { $0.entries = added + $0.entries }
    }

    /// Removes every stub, and every recorded request.
    public func removeAll() {
        state.withLock { state in
            state.entries = []
            state.requests = []
            state.unmatched = []
            state.takenCount = 0
        }
    }

    // MARK: History

    /// All received requests, matched or not, in order of arrival.
    public var requests: [RecordedRequest] { state.withLock { $0.requests } }

    /// The requests that no stub matched, in order.
    public var unmatchedRequests: [RecordedRequest] { state.withLock { $0.unmatched.map(\.request) } }

    /// Returns the requests that meet these conditions, in order.
    ///
    /// - Parameters:
    ///   - method: the method; `nil` is every method.
    ///   - url: the URL's pattern.
    ///   - matchers: further conditions on the request.
    /// - Returns: the requests that meet all conditions, in order of arrival; empty when none does.
    public func requests(_ method: HTTPMethod?, _ url: URLPattern, _ matchers: RequestMatcher...)
        -> [RecordedRequest]
    {
        let stub = Stub(method, url, matchers)
        return requests.filter { StubMatch(stub, $0).isMatch }
    }

    // MARK: Answering

    /// Records a request, and returns its answer.
    package func answer(to request: RecordedRequest) -> Result<(MockResponse, RecordedRequest), any Error> {
        // Matchers are user code: they run while the lock is free.
        let candidates = state.withLock { $0.entries }
        /// The orders whose next stub has been tried.
        var passed: Set<UUID> = []
        for entry in candidates {
            let order = entry.stub.place?.order
            if let order {
                guard !passed.contains(order), !entry.isUsedUp else { continue }
                passed.insert(order)
            }
            guard let parameters = StubMatch.parameters(of: entry.stub, for: request) else { continue }
            guard let callIndex = entry.use() else {
                // The stub is used up. In an order, another thread has just done that, as the test above shows, so the
                // next stub of the order can answer.
                if let order { passed.remove(order) }
                continue
            }
            var known = request
            known.parameters = parameters
            record(known, nil)
            return Result { (try entry.stub.answer.response(to: known, callIndex: callIndex), known) }
        }
        let error = UnmatchedRequestError(
            request: request, stubs: state.withLock { $0.entries }, redaction: redaction)
        record(request, allowsUnmatched ? nil : error)
        return .failure(error)
    }

    /// Returns the fault of the first stub that matches the request's head; `nil` when a closure makes that stub's
    /// answer.
    func earlyFault(for request: RecordedRequest) -> ServerFault? {
        for entry in state.withLock({ $0.entries }) where !entry.isUsedUp {
            guard StubMatch.headMatches(entry.stub, request) else { continue }
            guard case .sequence(let responses) = entry.stub.answer, !responses.isEmpty else {
                return nil
            }
            return responses[min(entry.callCount, responses.count - 1)].fault
        }
        return nil
    }

    /// Adds a request to the history, and resumes the first caller that waits for a request.
    func record(_ request: RecordedRequest, _ error: UnmatchedRequestError?) {
        guard keepsHistory else { return }
        let taker = state.withLock { state -> RequestTaker? in
            state.requests.append(request)
            if let error { state.unmatched.append(error) }
            guard !state.takers.isEmpty else { return nil }
            state.takenCount += 1
            return state.takers.removeFirst()
        }
        taker?.take(.success(request))
    }
}

extension Stub.Answer {
    func response(to request: RecordedRequest, callIndex: Int) throws -> MockResponse {
        switch self {
        case .sequence(let responses):
            responses.isEmpty ? .ok : responses[min(callIndex, responses.count - 1)]
        case .closure(let make): try make(request)
        }
    }
}
