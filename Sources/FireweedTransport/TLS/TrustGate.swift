// The state machine that holds a handshake while its peer is evaluated.

import Foundation

/// Holds a handshake until there is a verdict on its peer.
///
/// The certificate chain arrives in the middle of the handshake. In TLS 1.3, a stapled status arrives with the chain.
/// In TLS 1.2 it arrives later: the handshake continues until our next messages are made, but none of them is sent
/// before the verdict. A verdict is also valid for the same chain in another handshake. This type is pure: its owner
/// runs the evaluation.
struct TrustGate: Equatable {
    /// The evidence that a peer has sent.
    struct Evidence: Equatable, Sendable {
        /// The certificates in the order in which they were sent, the leaf first.
        var chain: [Certificate]
        /// The stapled OCSP response, sent with the certificates or after them; `nil` without one.
        var status: Data?
    }

    enum State: Equatable {
        /// No certificate chain has arrived.
        case open
        /// The chain has arrived, and a stapled status may follow.
        case provisional([Certificate])
        /// The evaluation is running.
        case deciding(Evidence)
        /// The verdict accepts this chain.
        case accepted([Certificate])
        /// The verdict refuses the peer.
        case refused
    }

    enum Event: Equatable {
        /// The chain has arrived, or OpenSSL asks again about the same chain; `mayStaple` if a stapled status may
        /// follow.
        case chain(Evidence, mayStaple: Bool)
        /// All messages of the peer that precede our next messages have arrived.
        case flight(status: Data?)
        /// The verdict.
        case verdict(isAccepted: Bool)
        /// The handshake is done; `isResumed` if it resumed a session, whose peer was evaluated earlier.
        case done(isResumed: Bool)
    }

    enum Effect: Equatable {
        /// Continue.
        case proceed
        /// Continue the handshake, but send nothing.
        case proceedSilently
        /// Hold the handshake until the verdict.
        case hold
        /// Evaluate the evidence, and hold the handshake until the verdict.
        case decide(Evidence)
        /// End the handshake.
        case refuse
    }

    private(set) var state = State.open

    /// Whether nothing may be sent until the verdict.
    var isProvisional: Bool { if case .provisional = state { true } else { false } }

    mutating func handle(_ event: Event) -> Effect {
        switch (state, event) {
        case (.open, .chain(let evidence, mayStaple: true)):
            return become(.provisional(evidence.chain), .proceedSilently)
        case (.open, .chain(let evidence, mayStaple: false)): return decide(evidence)
        case (.provisional(let chain), .flight(let status)): return decide(Evidence(chain: chain, status: status))
        case (.deciding(let evidence), .verdict(isAccepted: true)): return become(.accepted(evidence.chain), .proceed)
        case (.deciding, .verdict(isAccepted: false)): return become(.refused, .refuse)
        // OpenSSL asks again before the verdict is made.
        case (.deciding, .chain), (.deciding, .flight): return .hold
        case (.accepted(let known), .chain(let evidence, let mayStaple)):
            // In another handshake the peer may send another chain, which has no verdict yet.
            guard known != evidence.chain else { return .proceed }
            return mayStaple ? become(.provisional(evidence.chain), .proceedSilently) : decide(evidence)
        case (.accepted, .flight): return .proceed
        case (.accepted, .done): return .proceed
        case (.open, .flight): return .proceed
        case (.open, .done(isResumed: true)): return .proceed
        // A peer that was not evaluated is refused, whatever the reason.
        case (.open, .done(isResumed: false)), (.provisional, .done), (.deciding, .done):
            return become(.refused, .refuse)
        case (.provisional, .chain): return become(.refused, .refuse)
        case (.refused, _): return .refuse
        // A verdict that was not requested changes nothing.
        case (.open, .verdict), (.provisional, .verdict), (.accepted, .verdict): return .hold
        }
    }

    private mutating func decide(_ evidence: Evidence) -> Effect {
        become(.deciding(evidence), .decide(evidence))
    }

    private mutating func become(_ next: State, _ effect: Effect) -> Effect {
        state = next
        return effect
    }
}
