import Foundation
import Testing

@testable import Fireweed

/// The whole table of a request's life, in writing.
///
/// A state, `intent work`, and under it what each event does that does anything: the next state, and the effects. An
/// event that is not named is ignored there. Effects: R, S, C announce resume, suspend and cancel; M makes the request;
/// r, s, c resume, suspend and cancel the task; T validates; F finishes; L serialises for late handlers; D delays the
/// retry.
private let table = """
    initialized idle
        resume -> resumed making RM
        suspend -> suspended idle S
        cancel -> cancelled validating CT
        makeEagerly -> initialized making M
        abort -> initialized validating T
    suspended idle
        resume -> resumed making RM
        cancel -> cancelled validating CT
        makeEagerly -> suspended making M
        abort -> suspended validating T
    initialized making
        resume -> resumed making R
        suspend -> suspended making S
        cancel -> cancelled validating CT
        made -> initialized transferring
        makingFailed -> initialized validating T
        abort -> initialized validating T
    resumed making
        suspend -> suspended making S
        cancel -> cancelled validating CT
        made -> resumed transferring r
        makingFailed -> resumed validating T
        abort -> resumed validating T
    suspended making
        resume -> resumed making R
        cancel -> cancelled validating CT
        made -> suspended transferring s
        makingFailed -> suspended validating T
        abort -> suspended validating T
    initialized transferring
        resume -> resumed transferring Rr
        suspend -> suspended transferring Ss
        cancel -> cancelled transferring Cc
        completed -> initialized validating T
        abort -> initialized transferring c
    resumed transferring
        suspend -> suspended transferring Ss
        cancel -> cancelled transferring Cc
        completed -> resumed validating T
        abort -> resumed transferring c
    suspended transferring
        resume -> resumed transferring Rr
        cancel -> cancelled transferring Cc
        completed -> suspended validating T
        abort -> suspended transferring c
    cancelled transferring
        completed -> cancelled validating T
        abort -> cancelled transferring c
    initialized validating
        resume -> resumed validating R
        suspend -> suspended validating S
        cancel -> cancelled validating C
        outcomeDecided -> initialized serialising F
        retryGranted -> initialized awaitingRetry D
    resumed validating
        suspend -> suspended validating S
        cancel -> cancelled validating C
        outcomeDecided -> resumed serialising F
        retryGranted -> resumed awaitingRetry D
    suspended validating
        resume -> resumed validating R
        cancel -> cancelled validating C
        outcomeDecided -> suspended serialising F
        retryGranted -> suspended awaitingRetry D
    cancelled validating
        outcomeDecided -> cancelled serialising F
    initialized serialising
        resume -> resumed serialising R
        suspend -> suspended serialising S
        cancel -> cancelled serialising C
        retryGranted -> initialized awaitingRetry D
        serialised -> initialized done
    resumed serialising
        suspend -> suspended serialising S
        cancel -> cancelled serialising C
        retryGranted -> resumed awaitingRetry D
        serialised -> resumed done
    suspended serialising
        resume -> resumed serialising R
        cancel -> cancelled serialising C
        retryGranted -> suspended awaitingRetry D
        serialised -> suspended done
    cancelled serialising
        serialised -> cancelled done
    initialized awaitingRetry
        resume -> resumed awaitingRetry R
        suspend -> suspended awaitingRetry S
        cancel -> cancelled validating CT
        retryDue -> initialized making M
        abort -> initialized validating T
    resumed awaitingRetry
        suspend -> suspended awaitingRetry S
        cancel -> cancelled validating CT
        retryDue -> resumed making M
        abort -> resumed validating T
    suspended awaitingRetry
        resume -> resumed awaitingRetry R
        cancel -> cancelled validating CT
        retryDue -> suspended making M
        abort -> suspended validating T
    initialized done
        handlerAdded -> resumed serialising L
    resumed done
        handlerAdded -> resumed serialising L
    suspended done
        handlerAdded -> resumed serialising L
    cancelled done
        handlerAdded -> cancelled serialising L
    """

@Suite("Request state table")
struct RequestStateTableTests {
    @Test("every state answers every event as the table says", arguments: RequestState.reachable)
    func wholeTable(state: RequestState) throws {
        let lines = table.split(separator: "\n").map(String.init)
        let start = try #require(lines.firstIndex(of: state.code))
        let rows = lines[(start + 1)...].prefix { $0.hasPrefix("    ") }.map { $0.trimmingCharacters(in: .whitespaces) }
        for event in RequestState.Event.allCases {
            var next = state
            let effects = next.handle(event)
            let expected = rows.first { $0.hasPrefix("\(event) -> ") }
            let found = "\(event) -> \(next.code) \(effects.code)".trimmingCharacters(in: .whitespaces)
            if let expected {
                #expect(found == expected, "in \(state.code)")
            } else {
                #expect(next == state && effects.isEmpty, "in \(state.code): \(found)")
            }
        }
    }

    @Test("the table has the states that can be reached, and no others")
    func completeness() {
        let states = table.split(separator: "\n").filter { !$0.hasPrefix("    ") }.map(String.init)
        #expect(Set(states) == Set(RequestState.reachable.map(\.code)) && states.count == 24)
    }

    /// A race that such libraries are known to lose: the events in the order of the race, and the effects that come
    /// out.
    struct Race: Sendable {
        let name: String
        let events: [RequestState.Event]
        let effects: String
        let state: Request.State
    }

    static let races = [
        Race(
            name: "suspended before the task exists: it is not resumed", events: [.resume, .suspend, .made],
            effects: "RM S s", state: .suspended),
        Race(
            name: "suspended before anything exists", events: [.suspend, .makeEagerly, .made], effects: "S M s",
            state: .suspended),
        Race(
            name: "cancelled before the task exists: a task that is made too late is dropped",
            events: [.resume, .cancel, .made, .makingFailed, .outcomeDecided, .serialised], effects: "RM CT F",
            state: .cancelled),
        Race(
            name: "cancelled when the task has completed and the request has not",
            events: [.resume, .made, .completed, .cancel, .completed, .outcomeDecided, .serialised],
            effects: "RM r T C F",
            state: .cancelled),
        Race(
            name: "cancelled while the handlers are served",
            events: [.resume, .made, .completed, .outcomeDecided, .cancel, .serialised],
            effects: "RM r T F C", state: .cancelled),
        Race(
            name: "cancelled twice at once", events: [.resume, .made, .cancel, .cancel, .completed, .completed],
            effects: "RM r Cc T", state: .cancelled),
        Race(
            name: "resumed twice at once", events: [.resume, .resume, .made, .resume], effects: "RM r",
            state: .resumed),
        Race(
            name: "suspended and resumed over and over while it is being made",
            events: [.resume, .suspend, .resume, .suspend, .resume, .made], effects: "RM S R S R r", state: .resumed),
        Race(
            name: "suspended and resumed over and over on its way",
            events: [.resume, .made, .suspend, .suspend, .resume, .resume, .suspend, .resume],
            effects: "RM r Ss Rr Ss Rr", state: .resumed),
        Race(
            name: "the session goes while the request is being made",
            events: [.resume, .abort, .made, .outcomeDecided],
            effects: "RM T F", state: .resumed),
        Race(
            name: "the session goes while the request is on its way: the task's end is waited for",
            events: [.resume, .made, .abort, .abort, .completed], effects: "RM r c c T", state: .resumed),
        Race(
            name: "the session goes while the request finishes",
            events: [.resume, .made, .completed, .abort, .outcomeDecided, .abort, .serialised, .abort],
            effects: "RM r T F",
            state: .finished),
        Race(
            name: "the session goes while a retry waits: its time comes for nothing",
            events: [.resume, .made, .completed, .retryGranted, .abort, .retryDue, .outcomeDecided],
            effects: "RM r T D T F", state: .resumed),
        Race(
            name: "cancelled while a retry waits",
            events: [.resume, .made, .completed, .retryGranted, .cancel, .retryDue, .outcomeDecided, .serialised],
            effects: "RM r T D CT F", state: .cancelled),
        Race(
            name: "cancelled while the retrier is asked: its yes comes too late",
            events: [.resume, .made, .completed, .cancel, .retryGranted, .outcomeDecided], effects: "RM r T C F",
            state: .cancelled),
        Race(
            name: "suspended while a retry waits: the next task is not resumed",
            events: [.resume, .made, .completed, .retryGranted, .suspend, .retryDue, .made, .resume],
            effects: "RM r T D S M s Rr", state: .resumed),
        Race(
            name: "cancel returned from the response disposition: the task's end comes after it",
            events: [.resume, .made, .cancel, .completed, .outcomeDecided, .serialised], effects: "RM r Cc T F",
            state: .cancelled),
        Race(
            name: "a handler appended during the last callback",
            events: [
                .resume, .made, .completed, .outcomeDecided, .serialised, .handlerAdded, .handlerAdded, .serialised,
            ],
            effects: "RM r T F L", state: .finished),
        Race(
            name: "a late handler on a cancelled request",
            events: [.cancel, .outcomeDecided, .serialised, .handlerAdded, .resume, .serialised], effects: "CT F L",
            state: .cancelled),
    ]

    @Test("a race ends as its row says", arguments: races)
    func race(row: Race) {
        var state = RequestState()
        let effects = row.events.map { state.handle($0).code }.filter { !$0.isEmpty }
        #expect(effects.joined(separator: " ") == row.effects, "\(row.name)")
        #expect(state.visible == row.state, "\(row.name)")
    }
}

extension RequestState {
    static let reachable: [RequestState] = {
        var found: [RequestState] = [RequestState()]
        var index = 0
        while index < found.count {
            for event in Event.allCases {
                var next = found[index]
                _ = next.handle(event)
                if !found.contains(next) { found.append(next) }
            }
            index += 1
        }
        return found
    }()

    fileprivate var code: String {
        let work =
            switch work {
            case .idle: "idle"
            case .making: "making"
            case .transferring: "transferring"
            case .validating: "validating"
            case .serialising: "serialising"
            case .awaitingRetry: "awaitingRetry"
            case .done: "done"
            }
        return "\(intent) \(work)"
    }

    fileprivate var line: String {
        let answers = Event.allCases.compactMap { event -> String? in
            var next = self
            let effects = next.handle(event)
            return next == self && effects.isEmpty ? nil : "\(event) -> \(next.code) \(effects.code)"
        }
        return ([code] + answers).joined(separator: " | ")
    }
}

extension RequestState.Effects {
    fileprivate var code: String {
        zip("RSCMrscTFLD", 0...).filter { contains(RequestState.Effects(rawValue: 1 << UInt16($0.1))) }
            .map { String($0.0) }.joined()
    }
}
