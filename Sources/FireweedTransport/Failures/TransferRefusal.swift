// Limits and rules of the options that end a transfer.

public import Foundation

/// A limit or a rule of ``TransportOptions`` that ended a transfer.
///
/// The request fails with a `URLError` that has this error as its underlying error.
public enum TransferRefusal: Error, Sendable, Hashable {
    /// `addressGuard` refuses the address of the host.
    case address(IPAddress)
    /// The header sections are longer than `maximumHeaderByteCount`.
    case headerBytes(limit: Int)
    /// A header section has more fields than `maximumHeaderFieldCount`.
    case headerFields(limit: Int)
    /// More interim responses came than `maximumInterimResponseCount`.
    case interimResponses(limit: Int)
    /// The content is longer than `maximumBodyByteCount`, after decoding.
    case bodyBytes(limit: Int)
    /// The decoded content is more than `maximumExpansionRatio` times as long as the received content.
    case expansion(limit: Int)
    /// More than `maximumFramingByteCount` bytes came that are neither header fields nor content.
    case framingBytes(limit: Int)

    /// The code of the `URLError`; of these codes, a `RetryPolicy` retries only `.badServerResponse`.
    public var urlErrorCode: URLError.Code {
        switch self {
        case .address: .resourceUnavailable
        case .interimResponses, .framingBytes: .badServerResponse
        case .headerBytes, .headerFields, .bodyBytes, .expansion: .dataLengthExceedsMaximum
        }
    }
}

extension TransferRefusal: CustomStringConvertible, LocalizedError {
    /// A sentence that names the limit or the refused address.
    public var description: String {
        switch self {
        case .address(let address): "the host is at \(address), which the session's address guard refuses"
        case .headerBytes(let limit): "the header sections are longer than the limit of \(limit) bytes"
        case .headerFields(let limit): "a header section has more fields than the limit of \(limit)"
        case .interimResponses(let limit): "more interim responses came than the limit of \(limit)"
        case .bodyBytes(let limit): "the content is longer than the limit of \(limit) bytes"
        case .expansion(let limit): "the content expands to more than \(limit) times what was sent"
        case .framingBytes(let limit): "more than \(limit) bytes came that are no content"
        }
    }

    /// The description.
    public var errorDescription: String? { description }
}
