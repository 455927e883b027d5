// The values that travel with a request.

public import FireweedTransport
import Synchronization

extension Request {
    /// The values of the request: values set with ``value(_:for:)``, and values that the session has captured from the
    /// caller's context (``SessionOptions/valueCaptures``).
    ///
    /// Monitors, interceptors and transports read the values (``RequestMessage/owner``); the values are not sent.
    public var values: RequestValues { mutable.withLock { $0.extras?.values.all } ?? RequestValues() }

    /// Sets a value of the request, which takes precedence over a value that the session has captured.
    ///
    /// A message that was sent before keeps the values that it had.
    ///
    /// - Parameters:
    ///   - value: the value; `nil` removes the value that was set.
    ///   - key: the key.
    /// - Returns: the request.
    @discardableResult
    public func value<Key: RequestValueKey>(_ value: Key.Value?, for key: Key.Type) -> Self {
        mutable.withLock { state in state.withExtras { $0.values.own[key] = value } }
        return self
    }

    /// Sets the URL template of the request, for metrics and traces: `/users/{id}` for `/users/7`.
    ///
    /// The template is not sent. It should be one of a few constants: a path instead of a template would make a
    /// separate series of metrics for each user.
    ///
    /// - Parameter template: the template; `nil` removes it.
    /// - Returns: the request.
    @discardableResult
    public func urlTemplate(_ template: String?) -> Self { value(template, for: URLTemplateKey.self) }

    /// Notifies the request's observer, if it has one, of an event.
    func notifyObserver(_ event: @autoclosure () -> RequestObservation.Event) {
        // Only the look-up runs under the lock. The look-up is cheap, since most requests have no extras.
        let observer = mutable.withLock { $0.extras?.values.value(for: RequestObservation.self) }
        observer?.request(self, didMeet: event())
    }

    /// Captures values of the caller's context, unless values were captured at this moment or a later moment.
    func captureValues(at moment: RequestValueSources.Moment) {
        // Usually each added handler calls `resume()`; values are captured only at the first call.
        guard mutable.withLock({ $0.extras?.values.awaits(moment) ?? true }) else { return }
        var captured = RequestValues()
        for capture in core.arguments.options.valueCaptures { capture(&captured) }
        mutable.withLock { [captured] state in state.withExtras { $0.values.add(captured, at: moment) } }
    }

    /// The owner of the next message that is sent for the request.
    func nextMessageOwner(attemptNumber: Int) -> MessageOwner {
        let (id, values) = mutable.withLock { ($0.identifier(), $0.extras?.values.all) }
        return MessageOwner(
            requestID: id, attemptNumber: attemptNumber,
            messageNumber: messageCount.wrappingAdd(1, ordering: .relaxed).oldValue,
            values: values ?? RequestValues())
    }
}

/// The values of a request, grouped by their source; pure.
struct RequestValueSources: Sendable {
    /// The moment at which values of the caller are captured.
    enum Moment: Int, Sendable {
        case creation, resume
    }

    /// The values that the user has set.
    var own = RequestValues()
    private var captured = RequestValues()
    private var latest: Moment?

    /// All values; the user's take precedence.
    var all: RequestValues {
        var all = captured
        all.merge(own)
        return all
    }

    /// The value of one key; costs less than ``all``.
    func value<Key: RequestValueKey>(for key: Key.Type) -> Key.Value? { own[key] ?? captured[key] }

    /// Whether values have to be captured at a moment.
    func awaits(_ moment: Moment) -> Bool { latest.map { $0.rawValue < moment.rawValue } ?? true }

    /// Adds captured values; of two threads that resume a request, only the first one adds values.
    mutating func add(_ values: RequestValues, at moment: Moment) {
        guard awaits(moment) else { return }
        latest = moment
        captured.merge(values)
    }
}
