// Fireweed under the name `Alamofire`, for code that was written for Alamofire 5.

@_exported public import Fireweed

// Apple's names that Linux does not have, or whose types only Foundation can make. Code of apps names them in
// its own declarations; each stands for the type that Fireweed uses instead. Names that only Fireweed uses are not
// repeated here.

/// The metrics of a task, which is Fireweed's `TaskMetrics`.
///
/// Foundation's class of this name cannot be made or subclassed by other libraries. In a file that also imports
/// FoundationNetworking the name is ambiguous; `import typealias Alamofire.URLSessionTaskMetrics` decides for this one.
public typealias URLSessionTaskMetrics = TaskMetrics

/// The metrics of one exchange, which is Fireweed's `TransactionMetrics`.
///
/// As with ``URLSessionTaskMetrics``, a file that also imports FoundationNetworking says which one it means.
public typealias URLSessionTaskTransactionMetrics = TransactionMetrics

/// The certificates that a server showed, and what is to be checked of them.
public typealias SecTrust = ServerTrust

/// An X.509 certificate.
public typealias SecCertificate = Certificate

/// A public key; private keys have no counterpart.
public typealias SecKey = PublicKey

/// What is to be checked of a server's certificates.
public typealias SecPolicy = TrustPolicy

/// What came of an evaluation of a server's certificates.
public typealias SecTrustResultType = TrustResult

/// A result code of Apple's Security framework; zero is success.
public typealias OSStatus = Int32

/// The part of Apple's Network framework that `OfflineRetrier` takes.
public enum NWInterface {
    /// The kind of a network interface.
    public typealias InterfaceType = NetworkInterfaceType
}
