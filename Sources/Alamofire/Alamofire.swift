// Fireweed under the name `Alamofire`, for code that was written for Alamofire 5.

@_exported public import Fireweed

// Names of Apple's types that do not exist on Linux, or that only Foundation can make. Apps use these names in their
// declarations; each name stands for the type that Fireweed uses instead. Names that only Fireweed uses are not
// repeated here.

/// The metrics of a task, which is Fireweed's `TaskMetrics`.
///
/// Foundation's class of this name cannot be made or subclassed by other libraries. In a file that also imports
/// FoundationNetworking the name is ambiguous; `import typealias Alamofire.URLSessionTaskMetrics` selects this one.
public typealias URLSessionTaskMetrics = TaskMetrics

/// The metrics of one exchange, which is Fireweed's `TransactionMetrics`.
///
/// Like ``URLSessionTaskMetrics``, the name is ambiguous in a file that also imports FoundationNetworking.
public typealias URLSessionTaskTransactionMetrics = TransactionMetrics

/// The certificates that a server presented, and the rules for checking them.
public typealias SecTrust = ServerTrust

/// An X.509 certificate.
public typealias SecCertificate = Certificate

/// A public key; private keys have no counterpart.
public typealias SecKey = PublicKey

/// The rules by which a server's certificates are checked.
public typealias SecPolicy = TrustPolicy

/// The result of an evaluation of a server's certificates.
public typealias SecTrustResultType = TrustResult

/// A result code of Apple's Security framework; zero is success.
public typealias OSStatus = Int32

/// The part of Apple's `NWInterface` that `OfflineRetrier` needs.
public enum NWInterface {
    /// The kind of a network interface.
    public typealias InterfaceType = NetworkInterfaceType
}
