// The span of one message.

#if DistributedTracing
import Fireweed
import FireweedTransport
import Foundation
import Tracing

/// The options of a transport's spans; an object, which each span shares.
final class SpanSettings: Sendable {
    let options: TracingOptions

    init(_ options: TracingOptions) {
        self.options = options
    }
}

/// Begins, fills and ends the span of one message.
struct MessageSpan: TransferObserver {
    private let settings: SpanSettings
    private var span: (any Span)?
    private var status: Int?
    private var isWebSocket = false
    private var resendCount = 0

    init(_ settings: SpanSettings) {
        self.settings = settings
    }

    // MARK: The request

    mutating func transferWillStart(_ message: inout RequestMessage) -> TransferFailure? {
        let owner = message.owner
        let context = owner?.values[RequestServiceContext.self] ?? .topLevel
        let method = MethodName(message.method)
        let name = owner?.urlTemplate.map { "\(method.spanName) \($0)" } ?? method.spanName
        let span =
            settings.options.tracer?.startAnySpan(name, context: context, ofKind: .client)
            ?? InstrumentationSystem.tracer.startAnySpan(name, context: context, ofKind: .client)
        self.span = span
        isWebSocket = message.webSocket != nil
        resendCount = owner?.messageNumber ?? 0
        if span.isRecording { describe(message, method, on: span) }
        inject(span.context, into: &message)
        return nil
    }

    private func describe(_ message: borrowing RequestMessage, _ method: MethodName, on span: any Span) {
        let target = try? RequestTarget(message.url)
        let (url, fields, owner) = (message.url, message.fields, message.owner)
        span.updateAttributes { attributes in
            attributes["http.request.method"] = method.known
            if method.known != method.original { attributes["http.request.method_original"] = method.original }
            attributes["url.full"] = settings.options.redaction.text(ofURL: url)
            if let target {
                attributes["server.address"] = target.canonicalHost
                attributes["server.port"] = target.port
            }
            if let template = owner?.urlTemplate { attributes["url.template"] = template }
            if resendCount > 0 { attributes["http.request.resend_count"] = resendCount }
            for name in settings.options.requestHeaders {
                let values = fields.fields.filter { $0.name.isEqualIgnoringASCIICase(name) }.map(\.value)
                let key = "http.request.header.\(name.lowercased())"
                attributes.set(key, values, named: name, settings.options.redaction)
            }
        }
    }

    private func inject(_ context: ServiceContext, into message: inout RequestMessage) {
        var injection = FieldInjection(to: message.fields)
        if let tracer = settings.options.tracer {
            tracer.inject(context, into: &injection, using: FieldInjector())
        } else {
            InstrumentationSystem.instrument.inject(context, into: &injection, using: FieldInjector())
        }
        if let fields = injection.fields { message.fields = FieldBlock(fields) }
    }

    // MARK: The response

    func transferDidAnswerChallenge(_ head: ResponseHead) {
        guard let span, span.isRecording else { return }
        span.addEvent(
            SpanEvent(name: "http.challenge", attributes: ["http.response.status_code": .int64(Int64(head.status))]))
    }

    mutating func transferDidReceive(_ head: ResponseHead) {
        status = head.status
        guard let span else { return }
        if span.isRecording {
            span.updateAttributes { attributes in
                attributes["http.response.status_code"] = head.status
                if let version = head.protocolVersion { attributes["network.protocol.version"] = version }
                for name in settings.options.responseHeaders {
                    let key = "http.response.header.\(name.lowercased())"
                    attributes.set(key, head.values(of: name), named: name, settings.options.redaction)
                }
            }
        }
        // After its handshake, a WebSocket is not an HTTP exchange.
        if isWebSocket, head.status == 101 { end(nil) }
    }

    // MARK: The end

    mutating func transferDidFinish(_ end: borrowing TransferEnd, failure: TransferFailure?) {
        guard let span else { return }
        if span.isRecording {
            note(end.earlierReports, on: span)
            if let peer = end.report.remoteEndpoint {
                span.updateAttributes { attributes in
                    attributes["network.peer.address"] = peer.address
                    attributes["network.peer.port"] = peer.port
                }
            }
        }
        self.end(failure)
    }

    /// Notes that the transport has sent the message before, on connections that were lost.
    private func note(_ earlierReports: [TransferReport], on span: any Span) {
        guard !earlierReports.isEmpty else { return }
        for report in earlierReports {
            let lost = UInt64(max(0, report.startNanoseconds + report.total * 1000))
            span.addEvent(
                SpanEvent(
                    name: "fireweed.connection_lost",
                    at: DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: lost)))
        }
        span.updateAttributes { $0["http.request.resend_count"] = resendCount + earlierReports.count }
    }

    private mutating func end(_ failure: TransferFailure?) {
        guard let span else { return }
        self.span = nil
        let word = failure?.word ?? status.flatMap { $0 >= 400 ? String($0) : nil }
        if let word {
            span.updateAttributes { $0["error.type"] = word }
            span.setStatus(SpanStatus(code: .error, message: failure?.detail))
        }
        span.end()
    }
}

extension TransferFailure {
    /// The description of a failure, if it cannot contain text from the peer; `nil` for other failures.
    fileprivate var detail: String? {
        switch self {
        case .refused(let refusal): refusal.description
        case .reported(let error as OverloadError): error.description
        // These descriptions may quote what the peer has sent.
        case .exchange, .cancelled, .unreadableBody, .untrusted, .reported: nil
        }
    }
}

extension SpanAttributes {
    /// Sets the values of a field, with secrets redacted; sets nothing if there are no values.
    fileprivate mutating func set(_ key: String, _ values: [String], named name: String, _ redaction: Redaction) {
        guard !values.isEmpty else { return }
        self[key] = values.map { redaction.value($0, ofField: name) }
    }
}
#endif
