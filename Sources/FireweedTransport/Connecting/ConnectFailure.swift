// Reasons for a failed connection, as `URLError`s.

import Foundation
import Glibc

extension TransferFailure {
    /// The failure of a look-up that gave no address for a host.
    static func nameNotFound(_ host: String, _ failure: LookupFailure) -> TransferFailure {
        .exchange(
            failure.isExhaustion ? .cannotLoadFromNetwork : .cannotFindHost,
            detail: "the name \(host) cannot be looked up: \(failure.text)",
            engineCode: Int(failure.code))
    }

    /// Whether a name server answered that a host does not exist or has no address; false if no answer came.
    package var isUnknownName: Bool {
        guard case .exchange(.cannotFindHost, _, let code) = self else { return false }
        return LookupFailure.isDefinite(code)
    }

    /// The failure for a host that is an address of the IP version that the options exclude.
    static func otherVersion(_ address: String) -> TransferFailure {
        .exchange(
            .cannotConnectToHost,
            detail: "cannot connect to \(address): only the other version of IP is used",
            engineCode: Int(EAFNOSUPPORT))
    }

    /// The failure after every tried address has failed: a lack of descriptors decides the code, else the last error.
    ///
    /// The text names all errors.
    ///
    /// `interface` is the local interface or address that the options name.
    static func notConnected(
        to place: String, from interface: String?, _ causes: [(address: SocketAddress, error: Int32)]
    ) -> TransferFailure {
        let last = (causes.last { Descriptors.isExhaustion($0.error) } ?? causes.last)?.error ?? 0
        let told = causes.map { "\($0.address): \(String(cString: strerror($0.error)))" }.joined(separator: "; ")
        let code: URLError.Code =
            switch last {
            // `ENETUNREACH`: the network is unreachable (connect(2)), usually because there is no route to it.
            case ENETUNREACH: .notConnectedToInternet
            case EMFILE, ENFILE, ENOBUFS, ENOMEM: .cannotLoadFromNetwork
            case ETIMEDOUT: .timedOut
            default: .cannotConnectToHost
            }
        return .exchange(
            code, detail: "cannot connect to \(place)\(interface.map { " from \($0)" } ?? ""): \(told)",
            engineCode: Int(last))
    }

    /// The failure when the time-out `connectTimeout` is over.
    static func connectTimedOut(
        _ place: String, tried: [SocketAddress], layer: String? = nil
    ) -> TransferFailure {
        let addresses = tried.isEmpty ? "its name is being looked up" : tried.map(\.description).joined(separator: ", ")
        let told = layer.map { "\(addresses), in \($0)" } ?? addresses
        return .exchange(
            .timedOut, detail: "connecting to \(place) took longer than the time-out (\(told))",
            engineCode: Int(ETIMEDOUT))
    }

    /// The path of a Unix-domain socket contains a NUL; the path before the NUL could name another socket.
    static let pathWithNUL = TransferFailure.exchange(
        .cannotConnectToHost, detail: "the path of the Unix-domain socket has a NUL", engineCode: Int(EINVAL))

    /// The path of a Unix-domain socket does not fit into an address (unix(7)).
    static func pathTooLong(_ path: String) -> TransferFailure {
        .exchange(
            .cannotConnectToHost,
            detail: "the path of the Unix-domain socket has \(path.utf8.count) bytes, and at most "
                + "\(SocketAddress.longestPath) are possible: \(path)", engineCode: Int(ENAMETOOLONG))
    }
}
