// The pauses of a handshake while its peer is evaluated, as a table.

import Foundation

/// Holds a handshake until there is a verdict on its peer.
///
/// The chain comes in the middle of the handshake. A stapled status comes with the chain in TLS 1.3, and later in TLS
/// 1.2: there the handshake continues until our next messages are made, and none of them leaves before the verdict. A
/// verdict is valid for the same chain in another handshake too. The table is pure: the owner runs the evaluation.
struct TrustGate: Equatable {
    /// The evidence that a peer has shown.
    struct Evidence: Equatable, Sendable {
        /// The certificates as they were sent, the leaf first.
        var chain: [Certificate]
        /// The OCSP response that came with the certificates, or after them.
        var status: Data?
    }

    enum State: Equatable {
        /// The peer has shown nothing.
        case open
        /// The chain is there, and a status may follow.
        case provisional([Certificate])
        /// The verdict is being made.
        case deciding(Evidence)
        /// The verdict accepts this chain.
        case accepted([Certificate])
        /// The verdict refuses the peer.
        case refused
    }

    enum Event: Equatable {
        /// The chain has come, or OpenSSL asks again about the same chain; `mayStaple` when a status may follow.
        case chain(Evidence, mayStaple: Bool)
        /// All of the peer's messages before ours have come.
        case flight(status: Data?)
        /// The verdict.
        case verdict(isAccepted: Bool)
        /// The handshake is done; `isResumed` when it resumed a session, whose peer was judged before.
        case done(isResumed: Bool)
    }

    enum Effect: Equatable {
        /// Continue.
        case proceed
        /// Continue, but send nothing.
        case proceedSilently
        /// Hold until the verdict.
        case hold
        /// Evaluate the evidence, and hold until the verdict.
        case decide(Evidence)
        /// End the handshake.
        case refuse
    }

    private(set) var state = State.open

    /// Whether nothing may be sent before the verdict.
    var isProvisional: Bool { if case .provisional = state { true } else { false } }

    mutating func handle(_ event: Event) -> Effect {
        switch (state, event) {
        case (.open, .chain(let evidence, mayStaple: true)):
            return become(.provisional(evidence.chain), .proceedSilently)
        case (.open, .chain(let evidence, mayStaple: false)): return decide(evidence)
        case (.provisional(let chain), .flight(let status)): return decide(Evidence(chain: chain, status: status))
        case (.deciding(let evidence), .verdict(isAccepted: true)): return become(.accepted(evidence.chain), .proceed)
        case (.deciding, .verdict(isAccepted: false)): return become(.refused, .refuse)
        // OpenSSL asks again before the verdict.
        case (.deciding, .chain), (.deciding, .flight): return .hold
        case (.accepted(let known), .chain(let evidence, let mayStaple)):
            // In another handshake the peer may show another chain, on which there is no verdict.
            guard known != evidence.chain else { return .proceed }
            return mayStaple ? become(.provisional(evidence.chain), .proceedSilently) : decide(evidence)
        case (.accepted, .flight): return .proceed
        case (.accepted, .done): return .proceed
        case (.open, .flight): return .proceed
        case (.open, .done(isResumed: true)): return .proceed
        // A peer that was not judged is refused, whatever the reason.
        case (.open, .done(isResumed: false)), (.provisional, .done), (.deciding, .done):
            return become(.refused, .refuse)
        case (.provisional, .chain): return become(.refused, .refuse)
        case (.refused, _): return .refuse
        // An unrequested verdict.
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
