import Testing

@testable import FireweedTransport

@Suite("The life of a WebSocket")
struct WebSocketStateTests {
    @Test(
        "however it goes, the end is reported exactly once",
        arguments: WebSocketState.Event.allCases, WebSocketState.Event.allCases)
    func reportsOnce(first: WebSocketState.Event, second: WebSocketState.Event) {
        for third in WebSocketState.Event.allCases {
            for opening in [
                [], [.start], [.start, .connected], [.start, .connected, .challengedHere],
                [.start, .connected, .switched],
            ]
                as [[WebSocketState.Event]]
            {
                var state = WebSocketState.waiting
                let effects = (opening + [first, second, third, .failed]).flatMap { state.handle($0) }
                #expect(effects.count { $0 == .report } == 1)
                #expect(state == .finished)
                // What was dialled is hung up, and nothing is dialled while a connection stands.
                #expect(effects.count { $0 == .dial } == effects.count { $0 == .hangUp })
            }
        }
    }

    @Test(
        "the listener is notified of the opening before the close, of each at most once",
        arguments: WebSocketState.Event.allCases)
    func announcements(last: WebSocketState.Event) {
        var state = WebSocketState.waiting
        let events: [WebSocketState.Event] = [
            .start, .connected, .challenged, .connected, .switched, .switched, .peerClosed, .peerClosed, last,
        ]
        let effects = events.flatMap { state.handle($0) }
        #expect(effects.filter { $0 == .announceOpen || $0 == .announceClose } == [.announceOpen, .announceClose])
    }

    @Test("the outcome is open until both have said goodbye", arguments: WebSocketState.allCases)
    func outcome(state: WebSocketState) {
        #expect(state.isOutcomeOpen == ![.draining, .finished].contains(state))
    }

    @Test(
        "a close that waits for the peer's answer ends by that answer, by a violation and by the end of the connection")
    func closing() {
        for (event, next) in [
            (.peerClosed, .draining), (.violated, .draining), (.failed, .finished), (.cancel, .finished),
        ]
            as [(WebSocketState.Event, WebSocketState)]
        {
            var state = WebSocketState.closing
            _ = state.handle(event)
            #expect(state == next)
        }
    }
}
