// The internal form of a message's content, which names files by their URLs.

package import Foundation

/// The content of a request message.
///
/// `BodySource` is the public form, for other transports. It has no case for files, because another case would break
/// these transports.
package enum MessageContent: Sendable {
    case none
    case data(Data)
    /// The content of a file or a pipe, read while it is sent.
    ///
    /// The transport opens the file once for each exchange, on a thread that may block, shortly before the exchange can
    /// get a connection. A pipe ends when its last writer closes it, but never before a writer has opened it; a pipe
    /// can be read only once.
    case file(URL)
    case reader(make: @Sendable () throws -> any BodyReader)

    init(_ body: BodySource) {
        switch body {
        case .none: self = .none
        case .data(let data): self = .data(data)
        case .reader(let make): self = .reader(make: make)
        }
    }

    /// The public form of the content, for another transport: making the reader of a file opens the file.
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
