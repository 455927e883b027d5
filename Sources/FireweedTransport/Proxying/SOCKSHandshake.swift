// The handshake with a SOCKS proxy.

import Foundation

/// The client side of SOCKS 4, 4a and 5 (RFC 1928, RFC 1929) until the tunnel is established, as a state machine over
/// bytes.
///
/// ```swift
/// var handshake = try SOCKSHandshake(.socks5, to: .name("a.example", port: 443), user: nil, password: nil)
/// write(handshake.greeting)
/// switch try handshake.next(&bytes) {
/// case .needsMore: …      // read again, or `cut` when the proxy has closed
/// case .send(let bytes): …
/// case .established: …    // what is left in `bytes` comes from the origin
/// }
/// ```
package struct SOCKSHandshake {
    /// The destination that the proxy connects to.
    package enum Destination: Equatable, Sendable {
        /// A host name for the proxy to look up: for `socks4a` and `socks5h`.
        case name(String, port: UInt16)
        /// An address that we looked up.
        case address(IPAddress, port: UInt16)
    }

    /// The next step of the handshake.
    package enum Event: Equatable {
        /// All given bytes were read, and more are needed.
        case needsMore
        /// Send these bytes to the proxy.
        case send([UInt8])
        /// The tunnel is established; bytes after the proxy's response are not read.
        case established
    }

    private enum State {
        case socks4Reply, method, authentication, reply, established
    }

    private var state: State
    private var pending: [UInt8] = []
    private let destination: Destination
    private let user: [UInt8]?
    private let password: [UInt8]

    /// The bytes to send first.
    package let greeting: [UInt8]

    /// Makes the handshake of a new connection to the proxy.
    ///
    /// - Parameters:
    ///   - scheme: `socks4`, `socks4a`, `socks5` or `socks5h`; whether the proxy looks the name up depends on
    ///     `destination`.
    ///   - destination: the destination that the proxy connects to.
    ///   - user: the user; `nil` for none.
    ///   - password: the user's password; `nil` means an empty password. SOCKS 4 has no passwords.
    /// - Throws: `cannotConnectToHost` for values that the protocol cannot express: an empty name; names, users and
    ///   passwords of more than 255 bytes; IPv6 and NULs in SOCKS 4, and names in `socks4`.
    package init(
        _ scheme: Proxy.Scheme, to destination: Destination, user: String?, password: String?
    ) throws(TransferFailure) {
        self.destination = destination
        self.user = user.map { Array($0.utf8) }
        self.password = Array((password ?? "").utf8)
        if case .name(let name, _) = destination, !(1...255).contains(name.utf8.count) {
            throw .proxyFailed("the host's name has more than the 255 bytes that SOCKS can say")
        }
        switch scheme {
        case .socks4, .socks4a:
            state = .socks4Reply
            greeting = try Self.socks4Request(destination, user: self.user ?? [], hasNames: scheme == .socks4a)
        case .socks5, .socks5h:
            guard (self.user?.count ?? 1) <= 255, self.password.count <= 255 else {
                throw .proxyFailed("the user or the password has more than the 255 bytes that SOCKS can say")
            }
            state = .method
            // The offered methods: no authentication, and user with password.
            greeting = self.user == nil ? [5, 1, 0] : [5, 2, 0, 2]
        case .http, .https: preconditionFailure("a SOCKS handshake with an HTTP proxy")
        }
    }

    private static func socks4Request(
        _ destination: Destination, user: [UInt8], hasNames: Bool
    ) throws(TransferFailure) -> [UInt8] {
        guard user.count <= 255, !user.contains(0) else {
            throw .proxyFailed("the user has a NUL, or more than 255 bytes, which SOCKS 4 cannot say")
        }
        switch destination {
        case .address(let address, let port):
            guard address.bytes.count == 4 else {
                throw .proxyFailed("SOCKS 4 has no IPv6, and the host's address is one")
            }
            return [4, 1] + bytes(of: port) + address.bytes + user + [0]
        case .name(let name, let port):
            guard hasNames else { throw .proxyFailed("SOCKS 4 has no names: the host must be looked up here") }
            guard !name.utf8.contains(0) else { throw .proxyFailed("the host's name has a NUL") }
            // In SOCKS 4a, the invalid address 0.0.0.1 means that a name follows.
            return [4, 1] + bytes(of: port) + [0, 0, 0, 1] + user + [0] + Array(name.utf8) + [0]
        }
    }

    /// Reads from the front of `bytes` up to the next event, but no bytes after the proxy's response.
    ///
    /// Throws `cannotConnectToHost` with the proxy's reason, or `userAuthenticationRequired` if the proxy requires
    /// other credentials.
    package mutating func next(_ bytes: inout UnsafeRawBufferPointer) throws(TransferFailure) -> Event {
        while true {
            if case .established = state { return .established }
            while pending.count < neededByteCount {
                guard let byte = bytes.first else { return .needsMore }
                bytes = bytes.advanced(by: 1)
                pending.append(byte)
                try check()
            }
            let answer = pending
            pending = []
            if let event = try take(answer) { return event }
        }
    }

    /// The failure if the proxy closes the connection during the handshake.
    package var cut: TransferFailure { .proxyFailed("the SOCKS proxy closed the connection during the handshake") }

    /// The length of the current response in bytes; for a SOCKS 5 reply, 5 until the length of its address is known.
    private var neededByteCount: Int {
        switch state {
        case .socks4Reply: 8
        case .method, .authentication: 2
        case .established: 0
        case .reply:
            // The parts of a reply are version, reply, reserved, type, address and port (RFC 1928 §6).
            switch (pending.count > 3 ? pending[3] : 0, pending.count) {
            case (_, ..<5): 5
            case (1, _): 4 + 4 + 2
            case (4, _): 4 + 16 + 2
            default: 4 + 1 + Int(pending[4]) + 2
            }
        }
    }

    /// Checks the latest byte of a response at once, since a proxy that refuses may not send the rest.
    private func check() throws(TransferFailure) {
        let byte = pending[pending.count - 1]
        switch (state, pending.count) {
        case (.socks4Reply, 1) where byte != 0: throw .proxyFailed("the proxy does not answer as a SOCKS 4 proxy")
        case (.socks4Reply, 2) where byte != 90: throw .proxyFailed(Self.socks4Refusal(byte))
        case (.method, 1) where byte != 5, (.reply, 1) where byte != 5:
            throw .proxyFailed("the proxy does not answer as a SOCKS 5 proxy")
        case (.authentication, 1) where byte != 1: throw .proxyFailed("the SOCKS proxy answers credentials wrongly")
        case (.authentication, 2) where byte != 0:
            throw Self.refusedCredentials("does not accept the user and the password")
        case (.reply, 2) where byte != 0: throw .proxyFailed(Self.socks5Refusal(byte))
        case (.reply, 4) where byte != 1 && byte != 3 && byte != 4:
            throw .proxyFailed("the SOCKS proxy answers with an address of an unknown type")
        default: break
        }
    }

    /// Handles a complete response.
    private mutating func take(_ answer: [UInt8]) throws(TransferFailure) -> Event? {
        switch state {
        case .socks4Reply, .reply, .established:
            state = .established
            return .established
        case .authentication:
            state = .reply
            return .send(socks5Request)
        case .method:
            switch (answer[1], user) {
            case (0, _):
                state = .reply
                return .send(socks5Request)
            case (2, let user?):
                state = .authentication
                // The message has a version, and then user and password, each after its length (RFC 1929 §2).
                return .send([1, UInt8(user.count)] + user + [UInt8(password.count)] + password)
            case (255, nil): throw Self.refusedCredentials("wants a user and a password, or another proof of identity")
            case (255, _): throw Self.refusedCredentials("accepts no user with a password")
            default: throw .proxyFailed("the SOCKS proxy chose a way of authentication that was not offered")
            }
        }
    }

    /// The SOCKS 5 request CONNECT (RFC 1928 §4).
    private var socks5Request: [UInt8] {
        switch destination {
        case .address(let address, let port):
            [5, 1, 0, address.bytes.count == 4 ? 1 : 4] + address.bytes + Self.bytes(of: port)
        case .name(let name, let port): [5, 1, 0, 3, UInt8(name.utf8.count)] + Array(name.utf8) + Self.bytes(of: port)
        }
    }

    private static func bytes(of port: UInt16) -> [UInt8] { [UInt8(port >> 8), UInt8(port & 255)] }

    private static func refusedCredentials(_ reason: String) -> TransferFailure {
        .exchange(.userAuthenticationRequired, detail: "the SOCKS proxy \(reason)", engineCode: 0)
    }

    private static func socks4Refusal(_ code: UInt8) -> String {
        switch code {
        case 91: "the SOCKS proxy could not connect to the host, or refuses to"
        case 92: "the SOCKS proxy could not ask this machine's identd for the user"
        case 93: "the SOCKS proxy was told another user by this machine's identd"
        default: "the SOCKS proxy refuses with the unknown code \(code)"
        }
    }

    /// Returns the text for a refusal code (RFC 1928 §6).
    private static func socks5Refusal(_ code: UInt8) -> String {
        let reasons = [
            "failed", "does not allow the connection", "cannot reach the network", "cannot reach the host",
            "was refused the connection by the host", "ran out of time (TTL)", "does not know the command CONNECT",
            "does not know this type of address",
        ]
        return code <= reasons.count
            ? "the SOCKS proxy \(reasons[Int(code) - 1])" : "the SOCKS proxy refuses with the unknown code \(code)"
    }
}
