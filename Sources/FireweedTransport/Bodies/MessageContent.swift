// The content of a message inside Fireweed, where files are named by their URLs.

package import Foundation

/// The content of a request message.
///
/// `BodySource` is the public form, for other transports. It has no case for files, since a new case would break them.
package enum MessageContent: Sendable {
    case none
    case data(Data)
    /// The content of a file, or of a pipe, read while it is sent.
    ///
    /// The transport opens the file once for each exchange, on a thread that may wait for it, shortly before the
    /// exchange can have a connection. A pipe ends when its last writer has gone, and not before one came; it can be
    /// read once.
    case file(URL)
    case reader(make: @Sendable () throws -> any BodyReader)

    init(_ body: BodySource) {
        switch body {
        case .none: self = .none
        case .data(let data): self = .data(data)
        case .reader(let make): self = .reader(make: make)
        }
    }

    /// The content for another transport, which opens a file by making its reader.
    var body: BodySource {
        switch self {
        case .none: .none
        case .data(let data): .data(data)
        case .file(let url): .reader { try FileBodyReader(opening: url) }
        case .reader(let make): .reader(make: make)
        }
    }

    /// Whether the content is read while it is sent.
    package var isRead: Bool {
        switch self {
        case .none, .data: false
        case .file, .reader: true
        }
    }
}
