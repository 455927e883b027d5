// `URLProtocol` classes in the chain.

import FireweedTransport
import Foundation

/// Lets the classes in the configuration's `protocolClasses` perform exchanges, instead of cache and transport.
final class ProtocolLink: Link {
    func send(_ exchange: inout ChainContext, for host: any LinkContext) -> Decision {
        guard exchange.webSocket == nil else { return .pass }
        let offered = exchange
        return .deferred(
            DeferredDecision { resume in
                host.offerToProtocols(offered) { answer in
                    resume { exchange in
                        if let answer { return .answer(answer) }
                        return exchange.schemeViolation.map { .fail($0) } ?? .pass
                    }
                }
            })
    }
}

extension OutgoingMessage {
    /// The failure for a scheme that cannot be sent over the wire; `nil` for a supported scheme.
    ///
    /// Checked when the message is sent, and not when it is made: an adapter may complete the URL, and a `URLProtocol`
    /// may support the scheme.
    var schemeViolation: TransferFailure? {
        let text = wire.url
        guard !text.hasUsualScheme, !RequestRecord.schemes.contains(where: { text.hasScheme($0) }) else { return nil }
        let reason = url.scheme.map { "the scheme \($0) is not supported" } ?? "it has no scheme such as https"
        return .exchange(.unsupportedURL, detail: "unsupported URL: \(reason)", engineCode: 0)
    }
}
