// Output of heads around a response's content.

import Fireweed
import Foundation
import Glibc

/// Prints requests and heads of responses as they were on the wire, if `--print` asks for them.
struct HeadPrinter: Sendable {
    /// The letters of `--print`, which select the parts to print.
    let parts: [Character]
    /// Whether the responses of all exchanges are shown, not only the last response.
    let showsAll: Bool
    let text: MessageText
    /// The request's content, as text; empty if it is not shown.
    let contentText: TerminalText
    /// Whether heads of responses go to standard output byte for byte, for programs.
    let isRaw: Bool
    /// Whether a proxy's responses to CONNECT are left out of standard output; standard error gets them.
    var hidesTunnels = false
    /// The letters of `--print` whose parts are written to standard error, as with curl's `-v`.
    var errorParts: [Character] = []
    /// Writes the output.
    let write: @Sendable (TerminalText) -> Void

    /// Shows a sent request, or, with `showsAll`, the responses before a further request.
    func show(_ event: WireRecorder.Event) {
        switch event {
        case .sent(let exchange):
            if parts.contains("H") { write(text.head(exchange.request), for: "H") }
            if exchange.hasRequestContent, !contentText.isEmpty { write(contentText, for: "B") }
        case .intermediate(let exchange, let isOfEarlierAttempt):
            guard showsAll, parts.contains("h") else { return }
            // A program reads the head before the content, so it gets none of a response without its content.
            let isHidden = hidesTunnels && exchange.isTunnel || isRaw && isOfEarlierAttempt
            if !isHidden || errorParts.contains("h") { exchange.responses.forEach(writeResponse) }
        }
    }

    /// Shows the last response's head, which `exchange` has if it was on the wire; call this before any content is
    /// printed.
    func showResponse(_ response: HTTPURLResponse, _ exchange: WireRecorder.Exchange?) {
        guard parts.contains("h") else { return }
        // A response from the cache was not on the wire, or only as a 304.
        guard let exchange, exchange.status == response.statusCode else {
            return write(text.head(of: response), for: "h")
        }
        (showsAll ? exchange.responses[...] : exchange.responses.suffix(1)).forEach(writeResponse)
    }

    private func writeResponse(_ head: [UInt8]) {
        if isRaw, !errorParts.contains("h") { Terminal.write(head) } else { write(text.head(head), for: "h") }
    }

    private func write(_ text: TerminalText, for part: Character) {
        if errorParts.contains(part) { Terminal.tell(text) } else { write(text) }
    }

    /// Shows trailers, or an incomplete head.
    func showRest(_ recorder: WireRecorder) {
        recorder.flush()
        guard parts.contains("h"), let rest = recorder.last?.rest, !rest.isEmpty else { return }
        let lines = MessageText.lines(of: rest)
        guard !lines.isEmpty else { return }
        write(rest.starts(with: "HTTP/".utf8) ? text.head(rest) : text.fields(lines), for: "h")
    }
}

extension RequestPlan.Content {
    /// The size below which forms and files are shown; larger ones are not read into memory for this.
    private static let shownLimit = 64 * 1024

    /// Returns the content as readable text, or a note that names its source or its size.
    func shown(_ text: MessageText) -> TerminalText {
        switch self {
        case .none: ""
        case .data(let data, let type): text.content(data, type: type) + "\n"
        case .file(let file, let type):
            Self.content(of: file).map { text.content($0, type: type) + "\n" } ?? "(the content of \(file.path))\n\n"
        case .input: "(the content of standard input)\n\n"
        case .stream(let stream, _): "(the content of \(stream.path))\n\n"
        case .multipart(let form):
            form.contentLength < Self.shownLimit
                ? ((try? form.encode()).map { text.content($0, type: form.contentType) } ?? "") + "\n"
                : "(\(form.contentLength) bytes of multipart content)\n\n"
        }
    }

    /// Returns the content of a small regular file; `nil` for other files.
    private static func content(of file: URL) -> Data? {
        var status = stat()
        guard stat(file.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size < shownLimit else {
            return nil
        }
        return try? Data(contentsOf: file)
    }
}
