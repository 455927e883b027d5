// Public-key pinning: a key can stay the same when its certificate is renewed.

public import FireweedTransport
public import Foundation

/// Accepts servers whose chain has one of the given keys.
///
/// The key may be the server's own, an intermediate's or the root's. A certificate that the server sends additionally,
/// outside the chain, does not count.
///
/// ```swift
/// let evaluator = PublicKeysTrustEvaluator(
///     pins: [try PublicKeyPin("sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")],
///     backupPins: [try PublicKeyPin("sha256//LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=")])
/// ```
public final class PublicKeysTrustEvaluator: ServerTrustEvaluating {
    private enum Pinned: Sendable {
        case keys([PublicKey])
        case hashes([PublicKeyPin])

        var isEmpty: Bool {
            switch self {
            case .keys(let keys): keys.isEmpty
            case .hashes(let pins): pins.isEmpty
            }
        }
    }

    private let pinned: Pinned
    private let performDefaultValidation: Bool
    private let validateHost: Bool

    /// Makes an evaluator of keys.
    ///
    /// - Parameters:
    ///   - keys: the pins, by default the keys of the main bundle's certificates; without any, every evaluation fails.
    ///   - performDefaultValidation: check the chain up to an authority.
    ///   - validateHost: check that the certificate is for the host.
    public init(
        keys: [PublicKey] = Bundle.main.af.publicKeys, performDefaultValidation: Bool = true, validateHost: Bool = true
    ) {
        pinned = .keys(keys)
        self.performDefaultValidation = performDefaultValidation
        self.validateHost = validateHost
    }

    /// Makes an evaluator of hashes of keys.
    ///
    /// - Parameters:
    ///   - pins: the hashes of keys in use; without any here and in `backupPins`, every evaluation fails.
    ///   - backupPins: the hashes of spare keys, in case the keys in use are lost (RFC 7469 §4.3). They are accepted
    ///     like the hashes in `pins`.
    ///   - performDefaultValidation: check the chain up to an authority.
    ///   - validateHost: check that the certificate is for the host.
    public init(
        pins: [PublicKeyPin], backupPins: [PublicKeyPin] = [], performDefaultValidation: Bool = true,
        validateHost: Bool = true
    ) {
        pinned = .hashes(pins + backupPins)
        self.performDefaultValidation = performDefaultValidation
        self.validateHost = validateHost
    }

    /// The checks, and a digest of the pins.
    public var cachePartition: String? {
        let pins =
            switch pinned {
            case .keys(let keys): keys.map(\.pin)
            case .hashes(let pins): pins
            }
        return "keys \(CachePartition.digest(pins.map { [UInt8]($0.sha256) }))"
            + CachePartition.checks(performDefaultValidation: performDefaultValidation, validateHost: validateHost)
    }

    /// Throws `.noPublicKeysFound`, `.publicKeyPinningFailed`, `.trustEvaluationFailed(error:)` around a
    /// `TrustFailure`, or `.customEvaluationFailed(error:)` around a ``PublicKeyPinError``.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        guard !pinned.isEmpty else { throw AFError.serverTrustEvaluationFailed(reason: .noPublicKeysFound) }
        let chain = try trust.checkedChain(
            performDefaultValidation: performDefaultValidation, validateHost: validateHost, host: host)
        let found = chain.compactMap { try? $0.publicKey }
        switch pinned {
        case .keys(let keys):
            guard Set(found).isDisjoint(with: keys) else { return }
            throw AFError.serverTrustEvaluationFailed(
                reason: .publicKeyPinningFailed(host: host, trust: trust, pinnedKeys: keys, serverKeys: found))
        case .hashes(let pins):
            guard Set(found.map(\.pin)).isDisjoint(with: pins) else { return }
            throw AFError.serverTrustEvaluationFailed(
                reason: .customEvaluationFailed(
                    error: PublicKeyPinError(host: host, trust: trust, pins: pins, serverKeys: found)))
        }
    }
}

extension ServerTrustEvaluating where Self == PublicKeysTrustEvaluator {
    /// Accepts servers whose chain has a key of one of the main bundle's certificates.
    public static var publicKeys: PublicKeysTrustEvaluator { PublicKeysTrustEvaluator() }

    /// Accepts servers whose chain has one of the given keys.
    ///
    /// - Parameters:
    ///   - keys: the pins, by default the keys of the main bundle's certificates; without any, every evaluation fails.
    ///   - performDefaultValidation: whether the chain is checked up to an authority; true by default.
    ///   - validateHost: whether the certificate must be for the host; true by default.
    /// - Returns: the evaluator.
    public static func publicKeys(
        keys: [PublicKey] = Bundle.main.af.publicKeys, performDefaultValidation: Bool = true, validateHost: Bool = true
    ) -> PublicKeysTrustEvaluator {
        PublicKeysTrustEvaluator(
            keys: keys, performDefaultValidation: performDefaultValidation, validateHost: validateHost)
    }

    /// Accepts servers whose chain has a key with one of the given hashes.
    ///
    /// - Parameters:
    ///   - pins: the hashes of keys in use; without any here and in `backupPins`, every evaluation fails.
    ///   - backupPins: the hashes of spare keys (RFC 7469 §4.3), which are accepted too; none by default.
    ///   - performDefaultValidation: whether the chain is checked up to an authority; true by default.
    ///   - validateHost: whether the certificate must be for the host; true by default.
    /// - Returns: the evaluator.
    public static func publicKeys(
        pins: [PublicKeyPin], backupPins: [PublicKeyPin] = [], performDefaultValidation: Bool = true,
        validateHost: Bool = true
    ) -> PublicKeysTrustEvaluator {
        PublicKeysTrustEvaluator(
            pins: pins, backupPins: backupPins, performDefaultValidation: performDefaultValidation,
            validateHost: validateHost)
    }
}

/// The error when no key of a server's chain has a pinned hash.
///
/// It is the underlying error of `AFError.serverTrustEvaluationFailed(reason: .customEvaluationFailed(error:))`.
public struct PublicKeyPinError: Error, Sendable, LocalizedError {
    /// The host that the connection is for.
    public let host: String
    /// The server's certificates.
    public let trust: ServerTrust
    /// The pinned hashes, backup pins included.
    public let pins: [PublicKeyPin]
    /// The keys of the chain.
    public let serverKeys: [PublicKey]

    /// Names the host and the hashes of its keys.
    public var errorDescription: String? {
        "none of the keys of \(host) is pinned (\(serverKeys.map(\.pin.description).joined(separator: ", ")))"
    }
}
