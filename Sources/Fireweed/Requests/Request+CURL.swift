// A request as a `curl` command.

public import Dispatch
import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

extension Request {
    /// A `curl` command that sends what this request sends, for a POSIX shell; a sentence that says so before there is a request.
    public func cURLDescription() -> String {
        guard let record = mutable.withLock({ $0.records.last }) else {
            return "$ curl command could not be created: the request has not been made yet."
        }
        return CURLCommand(record: record, settings: core.settings, credential: credential, cookies: core.cookies).text
    }

    /// Calls `handler` with the command as soon as there is one, on a queue of the session.
    @discardableResult
    public func cURLDescription(calling handler: @escaping @Sendable (String) -> Void) -> Self {
        cURLDescription(on: core.rootQueue, calling: handler)
    }

    /// Calls `handler` on `queue` with the command as soon as there is one.
    @discardableResult
    public func cURLDescription(on queue: DispatchQueue, calling handler: @escaping @Sendable (String) -> Void) -> Self
    {
        let isMade = mutable.withLock { state in
            if state.records.isEmpty { state.withExtras { $0.curlHandlers.append((queue, handler)) } }
            return !state.records.isEmpty
        }
        if isMade { queue.async { handler(self.cURLDescription()) } }
        return self
    }
}

/// Writes the command.
struct CURLCommand {
    let record: RequestRecord
    let settings: SessionSettings
    let credential: URLCredential?
    let cookies: CookieJar

    var text: String {
        var parts = ["$ curl -v", "-X \(Self.word(record.method))"]
        if let user = credential?.user { parts.append("-u \(Self.quoted("\(user):\(credential?.password ?? "")"))") }
        let fields = settings.fields(addedTo: record.ownHeaders)
        let hop = Hop(url: record.url, method: record.method, fields: fields, body: .none)
        let sent = cookies.addingCookies(for: hop, settings: settings).fields
        for field in sent {
            parts.append(
                field.name.isEqualIgnoringASCIICase("Cookie")
                    ? "-b \(Self.quoted(field.value))" : "-H \(Self.quoted("\(field.name): \(field.value)"))")
        }
        if let body = record.existing?.httpBody, let text = String(data: body, encoding: .utf8) {
            parts.append("-d \(Self.quoted(text))")
        }
        parts.append(Self.quoted(record.url.absoluteString))
        return parts.joined(separator: " \\\n\t")
    }

    /// In double quotes, with what a shell would expand inside them escaped; in single quotes where `!` could mean history.
    static func quoted(_ text: String) -> String {
        if text.contains("!") { return "'" + text.replacingOccurrences(of: "'", with: "'\\''") + "'" }
        let escaped = text.map { "\\\"$`".contains($0) ? "\\\($0)" : String($0) }.joined()
        return "\"\(escaped)\""
    }

    private static func word(_ text: String) -> String {
        text.utf8.allSatisfy { (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) || $0 == 0x2D }
            ? text : quoted(text)
    }
}
