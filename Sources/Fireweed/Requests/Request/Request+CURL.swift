// A request as a `curl` command.

public import Dispatch
import FireweedTransport
import Foundation
public import FoundationNetworking
import Synchronization

extension Request {
    /// Returns a `curl` command for a POSIX shell, after a prompt, that sends the first message of this request.
    ///
    /// The command has the session's fields and cookies, and the request's credentials. Content is an argument where
    /// that is possible; otherwise `printf` and `cat` write it into a pipe. Files appear by name. The bytes of a stream
    /// cannot be shown, and are expected on standard input. Before the `URLRequest` is made, the text is a sentence
    /// that says so.
    public func cURLDescription() -> String {
        cURLDescription(secrets: .shown)
    }

    /// Returns the command of `cURLDescription()`, with or without secrets.
    ///
    /// - Parameter secrets: `.hidden` for logs.
    /// - Returns: the command after a prompt, `$ curl …`, over several lines; a sentence when no command can be made.
    public func cURLDescription(secrets: CURLSecrets) -> String {
        guard let record = mutable.withLock({ $0.records.last }) else {
            return "$ curl command could not be created: the request has not been made yet."
        }
        let fields = record.withContentType(core.settings.fields(addedTo: record.ownHeaders))
        var message = OutgoingMessage(url: record.url, method: record.method, fields: fields, body: .none)
        message = core.credentials.completing(message)
        var command = CURLCommand(
            method: record.method, urlText: message.url.absoluteString,
            fields: core.cookies.addingCookies(
                to: message.fields, for: message.url, urlText: message.url.absoluteString, settings: core.settings
            ).fields)
        if let credential, let user = credential.user {
            command.credential = (user, credential.password ?? "")
            command.schemes = mutable.withLock { $0.extras?.schemes } ?? .password
        } else if let found = message.credentials {
            command.credential = (found.user, found.password)
            command.schemes = found.schemes
        }
        command.content = parts.content.shown ?? record.existing?.curlContent ?? .none
        return command.text(secrets, hiding: core.settings.ownHiddenFieldNames)
    }

    /// Calls `handler` once with the command, on the session's root queue.
    ///
    /// Otherwise like `cURLDescription(on:calling:)`.
    @preconcurrency
    @discardableResult
    public func cURLDescription(calling handler: @escaping @Sendable (String) -> Void) -> Self {
        cURLDescription(secrets: .shown, on: core.arguments.rootQueue, calling: handler)
    }

    /// Calls `handler` once with the command, as soon as the `URLRequest` is made and adapted, or making it has failed.
    ///
    /// A handler that is set before the `URLRequest` is made gets the adapted request; a handler that is set while an
    /// adapter runs gets the request before the adapters. When an adapter fails, the command shows the request before
    /// the adapters. When no `URLRequest` could be made, a sentence says so.
    ///
    /// - Parameters:
    ///   - queue: where `handler` is called.
    ///   - handler: takes the command.
    /// - Returns: the request.
    @preconcurrency
    @discardableResult
    public func cURLDescription(on queue: DispatchQueue, calling handler: @escaping @Sendable (String) -> Void) -> Self
    {
        cURLDescription(secrets: .shown, on: queue, calling: handler)
    }

    /// Calls `handler` once with the command, with or without secrets, on the session's root queue.
    ///
    /// Otherwise like `cURLDescription(on:calling:)`.
    ///
    /// - Parameters:
    ///   - secrets: `.hidden` for logs.
    ///   - handler: takes the command.
    /// - Returns: the request.
    @preconcurrency
    @discardableResult
    public func cURLDescription(
        secrets: CURLSecrets, calling handler: @escaping @Sendable (String) -> Void
    ) -> Self {
        cURLDescription(secrets: secrets, on: core.arguments.rootQueue, calling: handler)
    }

    /// Calls `handler` once with the command, with or without secrets.
    ///
    /// Otherwise like `cURLDescription(on:calling:)`.
    ///
    /// - Parameters:
    ///   - secrets: `.hidden` for logs.
    ///   - queue: where `handler` is called.
    ///   - handler: takes the command.
    /// - Returns: the request.
    @preconcurrency
    @discardableResult
    public func cURLDescription(
        secrets: CURLSecrets, on queue: DispatchQueue, calling handler: @escaping @Sendable (String) -> Void
    ) -> Self {
        let isMade = mutable.withLock { state in
            if state.records.isEmpty, state.lifecycle.isOutcomeOpen {
                let describe: @Sendable (Request) -> Void = { handler($0.cURLDescription(secrets: secrets)) }
                state.withExtras { $0.curlHandlers.append((queue, describe)) }
                return false
            }
            return true
        }
        if isMade { queue.async { handler(self.cURLDescription(secrets: secrets)) } }
        return self
    }

    /// Calls the handlers that wait for the command.
    func callCURLHandlers() {
        let handlers = mutable.withLock { state in
            defer { state.extras?.curlHandlers = [] }
            return state.extras?.curlHandlers ?? []
        }
        for (queue, handler) in handlers {
            queue.async { handler(self) }
        }
    }
}

extension URLRequest {
    /// Returns a `curl` command, after a prompt, that sends this request unchanged, without the fields that a session
    /// adds.
    ///
    /// `URLRequest(cURL:)` reads it back into the same request: method, URL, fields and content.
    ///
    /// - Parameter secrets: `.hidden` for logs; by default everything is shown.
    /// - Returns: the command after a prompt, `$ curl …`, over several lines; a sentence when no command can be made.
    public func cURLDescription(secrets: CURLSecrets = .shown) -> String {
        guard let url else { return "$ curl command could not be created: the request has no URL." }
        return CURLCommand(
            method: httpMethod ?? "GET", urlText: url.absoluteString,
            fields: headers.map { Field(name: $0.name, value: $0.value) },
            content: curlContent, isComplete: false
        ).text(secrets)
    }

    fileprivate var curlContent: CURLContent {
        if let httpBody { return httpBody.isEmpty ? .none : .data(httpBody) }
        return httpBodyStream == nil ? .none : .pieces([.stream])
    }
}
