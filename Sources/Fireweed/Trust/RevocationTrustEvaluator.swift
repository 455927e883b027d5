// Revocation checks.

public import FireweedTransport
import Foundation
import Synchronization

/// Accepts servers whose chain has no revoked certificate.
///
/// For each certificate of the verified chain except the authority's, the evaluator takes the first definite status
/// from: the response that the server stapled (for the leaf only), the revocation lists that the evaluator was made
/// with, the statuses of earlier evaluations, the issuer's OCSP responder, and the issuer's lists. A good status is
/// kept until it ends, but at most a day after its last use; a revocation is kept for a day after its last use.
///
/// Soft-fail by default: an unknown revocation status is accepted, so that an unreachable responder does not make
/// servers unreachable. An attacker who blocks the responder can then use a revoked certificate; with
/// `requirePositiveResponse` an unknown status fails.
///
/// The evaluation waits for the network on a separate thread. Statuses are signed, so they are fetched over plain HTTP;
/// redirects are not followed. They are fetched only for chains that lead to an authority: a server cannot make us
/// fetch arbitrary URLs with a certificate that it issued itself. The fetches use the session's proxy, and only
/// addresses that the session's ``AddressGuard`` allows. A status that cannot be fetched is unknown.
///
/// ```swift
/// let manager = ServerTrustManager(evaluators: ["bank.example": .revocationChecking(options: [.any, .requirePositiveResponse])])
/// ```
public final class RevocationTrustEvaluator: ServerTrustEvaluating {
    /// Where the status is looked up, and whether an unknown status fails.
    public struct Options: OptionSet, Sendable, Hashable {
        /// Use OCSP (RFC 6960), stapled responses included.
        public static let ocsp = Options(rawValue: 1 << 0)
        /// Use revocation lists (RFC 5280 §5).
        public static let crl = Options(rawValue: 1 << 1)
        /// Use the issuer's lists before its responders; without `crl` it has no effect.
        public static let preferCRL = Options(rawValue: 1 << 2)
        /// Fail when the status of a certificate is unknown.
        public static let requirePositiveResponse = Options(rawValue: 1 << 3)
        /// Do not use the network: only stapled and earlier responses, and the lists that the evaluator was made with.
        public static let networkAccessDisabled = Options(rawValue: 1 << 4)
        /// OCSP and revocation lists.
        public static let any: Options = [.ocsp, .crl]

        /// The options as bits, those of Apple's `kSecRevocation` constants.
        public let rawValue: UInt

        /// Makes options from bits.
        public init(rawValue: UInt) {
            self.rawValue = rawValue
        }
    }

    private struct RememberedAnswer {
        let answer: RevocationAnswer
        let end: Date
    }

    private let performDefaultValidation: Bool
    private let validateHost: Bool
    private let options: Options
    private let revocationLists: [RevocationList]
    /// How long all look-ups for one server may take together.
    let timeout: Duration
    private let known = Mutex<[Certificate: RememberedAnswer]>([:])

    private static let knownLimit = 512
    private static let longestMemory: TimeInterval = 86_400

    /// Makes an evaluator without revocation lists, whose look-ups for one server take ten seconds at most.
    ///
    /// - Parameters:
    ///   - performDefaultValidation: whether the chain is checked before the host; true by default. With false, the
    ///     host is checked first. A chain that leads to no authority fails in either case.
    ///   - validateHost: whether the certificate must be for the host; true by default.
    ///   - options: how the status is looked up, and whether an unknown status is a failure; OCSP and revocation lists
    ///     by default, where an unknown status is accepted.
    public convenience init(
        performDefaultValidation: Bool = true, validateHost: Bool = true, options: Options = .any
    ) {
        self.init(
            performDefaultValidation: performDefaultValidation, validateHost: validateHost, options: options,
            revocationLists: [])
    }

    /// Makes an evaluator.
    ///
    /// - Parameters:
    ///   - performDefaultValidation: whether the chain is checked before the host; true by default. With false, the
    ///     host is checked first. A chain that leads to no authority fails in either case.
    ///   - validateHost: check that the certificate is for the host.
    ///   - options: where the status is looked up, and whether an unknown status is a failure.
    ///   - revocationLists: lists that are searched before the network is used; none by default.
    ///   - timeout: how long all look-ups for one server may take together; 10 seconds by default.
    public init(
        performDefaultValidation: Bool = true, validateHost: Bool = true, options: Options = .any,
        revocationLists: [RevocationList] = [], timeout: Duration = .seconds(10)
    ) {
        self.performDefaultValidation = performDefaultValidation
        self.validateHost = validateHost
        self.options = options
        self.revocationLists = revocationLists
        self.timeout = timeout
    }

    /// The checks, the options, and a digest of the revocation lists.
    public var cachePartition: String? {
        let lists = CachePartition.digest(revocationLists.map { Digest.sha256($0.derRepresentation) })
        return "revocation \(options.rawValue) \(lists)"
            + CachePartition.checks(performDefaultValidation: performDefaultValidation, validateHost: validateHost)
    }

    /// True: the evaluator waits for the network.
    public var mayWait: Bool { true }

    /// Throws `.trustEvaluationFailed(error:)` around a `TrustFailure`: `.revoked`, `.unknownRevocation`, or a fault of
    /// the chain or the name.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        _ = try trust.checkedChain(
            performDefaultValidation: performDefaultValidation, validateHost: validateHost, host: host)
        do throws(TrustFailure) {
            // `evaluateChain` comes first: without a chain to an authority, no trusted issuer could report a status.
            try check(trust, path: trust.evaluateChain())
        } catch {
            throw AFError.serverTrustEvaluationFailed(reason: .trustEvaluationFailed(error: error))
        }
    }

    /// Looks up the status of each certificate of a verified chain; throws `.revoked` or `.unknownRevocation`.
    func check(_ trust: ServerTrust, path: [Certificate]) throws(TrustFailure) {
        guard trust.mayWait || options.contains(.networkAccessDisabled) else {
            // A custom evaluator whose `mayWait` is false has called this evaluator on the event loop's thread: the
            // evaluation is repeated where it may wait.
            trust.requestWaitingEvaluation()
            throw .unknownRevocation(path[0], reason: "the evaluation must not wait here")
        }
        let deadline = ContinuousClock.now + timeout
        for (index, inquiry) in RevocationInquiry.inquiries(about: path).enumerated() {
            let stapled = index == 0 ? trust.stapledStatus : nil
            let answer = answer(
                to: inquiry, stapled: stapled, fetching: trust.statuses ?? StatusFetch.byDefault, by: deadline)
            switch answer.status {
            case .good: answer.validUntil.map { trust.limitVerdict(to: $0) }
            case .revoked: throw .revoked(inquiry.certificate)
            case .unknown(let reason):
                guard options.contains(.requirePositiveResponse) else { break }
                throw .unknownRevocation(inquiry.certificate, reason: reason)
            }
        }
    }

    // MARK: Asking

    /// Returns the first definite status; without one, an unknown status with the reasons of all sources.
    private func answer(
        to inquiry: RevocationInquiry, stapled: Data?, fetching statuses: any StatusSource,
        by deadline: ContinuousClock.Instant
    ) -> RevocationAnswer {
        var reasons: [String] = []
        for ask in sources(for: inquiry, stapled: stapled, fetching: statuses, by: deadline) {
            let answer = ask()
            guard case .unknown(let reason) = answer.status else {
                remember(answer, about: inquiry.certificate)
                return answer
            }
            reasons.append(reason)
        }
        return .unknown(reasons.isEmpty ? "there is no responder to ask" : reasons.joined(separator: "; "))
    }

    /// The sources of a status, in order.
    private func sources(
        for inquiry: RevocationInquiry, stapled: Data?, fetching statuses: any StatusSource,
        by deadline: ContinuousClock.Instant
    ) -> [() -> RevocationAnswer] {
        var sources: [() -> RevocationAnswer] = []
        if options.contains(.ocsp), let stapled { sources.append { inquiry.answer(in: stapled) } }
        if options.contains(.crl), !revocationLists.isEmpty {
            sources.append { [revocationLists] in inquiry.answer(in: revocationLists) }
        }
        if let earlier = remembered(about: inquiry.certificate) { sources.append { earlier } }
        guard !options.contains(.networkAccessDisabled) else { return sources }
        let responders = options.contains(.ocsp) ? inquiry.responders : []
        let locations = options.contains(.crl) ? inquiry.listLocations : []
        let asking = responders.map { url in { Self.ask(url, inquiry, statuses, deadline) } }
        let looking = locations.map { url in { Self.look(into: url, inquiry, statuses, deadline) } }
        return sources + (options.contains(.preferCRL) ? looking + asking : asking + looking)
    }

    private static func ask(
        _ responder: URL, _ inquiry: RevocationInquiry, _ statuses: any StatusSource,
        _ deadline: ContinuousClock.Instant
    ) -> RevocationAnswer {
        guard let request = inquiry.request else { return .unknown("no OCSP request could be made") }
        return fetched {
            let content = (data: request, type: "application/ocsp-request")
            return inquiry.answer(in: try statuses.fetch(responder, posting: content, deadline: deadline))
        }
    }

    private static func look(
        into location: URL, _ inquiry: RevocationInquiry, _ statuses: any StatusSource,
        _ deadline: ContinuousClock.Instant
    ) -> RevocationAnswer {
        fetched {
            inquiry.answer(in: [try RevocationList(bytes: statuses.fetch(location, posting: nil, deadline: deadline))])
        }
    }

    private static func fetched(_ body: () throws -> RevocationAnswer) -> RevocationAnswer {
        do {
            return try body()
        } catch {
            return .unknown(error.plainText)
        }
    }

    // MARK: Earlier answers

    private func remembered(about certificate: Certificate) -> RevocationAnswer? {
        known.withLock { $0[certificate] }.flatMap { $0.end > Date() ? $0.answer : nil }
    }

    /// Keeps a good status until its end, but at most for a day from now, and a revocation always for a day.
    ///
    /// A good status without an end is not kept.
    private func remember(_ answer: RevocationAnswer, about certificate: Certificate) {
        let latest = Date().addingTimeInterval(Self.longestMemory)
        let end = answer.status == .revoked ? latest : answer.validUntil.map { min($0, latest) }
        guard let end else { return }
        known.withLock { known in
            if known.count >= Self.knownLimit { known = known.filter { $0.value.end > Date() } }
            if known.count >= Self.knownLimit { known.removeAll() }
            known[certificate] = RememberedAnswer(answer: answer, end: end)
        }
    }
}

extension RevocationTrustEvaluator: ServerIdentityChecking {
    var checksIdentity: Bool { performDefaultValidation && validateHost }
}

extension ServerTrustEvaluating where Self == RevocationTrustEvaluator {
    /// Accepts servers whose chain has no certificate that is known to be revoked.
    public static var revocationChecking: RevocationTrustEvaluator { RevocationTrustEvaluator() }

    /// Accepts servers whose chain has no certificate that is known to be revoked.
    ///
    /// - Parameters:
    ///   - performDefaultValidation: whether the chain is checked up to an authority; true by default.
    ///   - validateHost: whether the certificate must be for the host; true by default.
    ///   - options: where revocation is looked up, and whether an unknown status fails; by default OCSP and lists, and
    ///     an unknown status is accepted.
    /// - Returns: the evaluator.
    public static func revocationChecking(
        performDefaultValidation: Bool = true, validateHost: Bool = true,
        options: RevocationTrustEvaluator.Options = .any
    ) -> RevocationTrustEvaluator {
        RevocationTrustEvaluator(
            performDefaultValidation: performDefaultValidation, validateHost: validateHost, options: options)
    }

    /// Accepts servers whose chain has no certificate that is known to be revoked, with your own lists and time limit.
    ///
    /// - Parameters:
    ///   - performDefaultValidation: whether the chain is checked up to an authority; true by default.
    ///   - validateHost: whether the certificate must be for the host; true by default.
    ///   - options: where revocation is looked up, and whether an unknown status fails; by default OCSP and lists, and
    ///     an unknown status is accepted.
    ///   - revocationLists: lists that are searched before the network is used; none by default.
    ///   - timeout: how long all look-ups for one server may take together; 10 seconds by default.
    /// - Returns: the evaluator.
    public static func revocationChecking(
        performDefaultValidation: Bool = true, validateHost: Bool = true,
        options: RevocationTrustEvaluator.Options = .any, revocationLists: [RevocationList] = [],
        timeout: Duration = .seconds(10)
    ) -> RevocationTrustEvaluator {
        RevocationTrustEvaluator(
            performDefaultValidation: performDefaultValidation, validateHost: validateHost, options: options,
            revocationLists: revocationLists, timeout: timeout)
    }
}
