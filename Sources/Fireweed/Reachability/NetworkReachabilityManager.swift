// Reachability of the network, or of a host.

public import Dispatch
import Foundation
import Synchronization

/// Reports whether the network can be reached: any destination, or one host.
///
/// It reads the kernel's tables over netlink: a destination is reachable when a route leads to it over a link that is
/// up. Nothing is sent, so a reachable host may still not answer.
///
/// <!-- sample: no-run: it waits for changes of the network -->
/// ```swift
/// let manager = NetworkReachabilityManager(host: "example.com")
/// manager?.startListening { status in print(status) }
/// ```
open class NetworkReachabilityManager: @unchecked Sendable {
    // SAFETY: every stored property is a `let` of `Sendable` type.

    /// Whether and how a destination can be reached.
    public enum NetworkReachabilityStatus: Sendable, Equatable {
        /// The kernel cannot be asked.
        case unknown
        /// There is no route, its link is down, or the host's name has no address.
        case notReachable
        /// There is a route.
        case reachable(ConnectionType)

        /// The kind of link that a route uses.
        public enum ConnectionType: Sendable, Equatable {
            /// Anything but mobile broadband.
            case ethernetOrWiFi
            /// Mobile broadband: WWAN, PPP and rmnet interfaces.
            case cellular
        }
    }

    /// Called with the status when listening begins, and after each change.
    public typealias Listener = @Sendable (_ status: NetworkReachabilityStatus) -> Void

    private struct Listening: Sendable {
        var listener: Listener
        var queue: DispatchQueue
        var monitor: NetworkMonitor
        var number: Int
        var previous: NetworkReachabilityStatus?
    }

    private struct State: Sendable {
        var listening: Listening?
        var count = 0
    }

    /// A manager for any destination.
    public static let `default` = NetworkReachabilityManager()

    /// The queue on which the kernel is asked.
    public let reachabilityQueue = DispatchQueue(label: "org.alamofire.reachabilityQueue")
    let subject: RouteSubject
    private let state = Mutex(State())
    private let resolutionQueue = DispatchQueue(label: "org.alamofire.reachabilityQueue.names")

    /// A manager for one host: a name, or an address.
    ///
    /// The name is looked up when listening begins, and again after changes as long as it has no address. `nil` for an
    /// empty host.
    public convenience init?(host: String) {
        guard !host.isEmpty else { return nil }
        self.init(subject: RouteSubject(host: host))
    }

    /// A manager for any destination; it is reachable when there is a default route.
    public convenience init?() {
        self.init(subject: RouteSubject(host: nil))
    }

    init(subject: RouteSubject) {
        self.subject = subject
    }

    deinit { stopListening() }

    // MARK: Asking

    /// The status at this moment.
    ///
    /// It asks the kernel each time, which takes a fraction of a millisecond. For a host name it also waits for a name
    /// server, until the name has an address.
    open var status: NetworkReachabilityStatus {
        _ = subject.resolve()
        return subject.status
    }

    /// Whether there is a route, over mobile broadband or anything else.
    open var isReachable: Bool { isReachableOnCellular || isReachableOnEthernetOrWiFi }
    /// Whether the route uses mobile broadband.
    open var isReachableOnCellular: Bool { status == .reachable(.cellular) }
    /// Whether the route uses anything else than mobile broadband.
    open var isReachableOnEthernetOrWiFi: Bool { status == .reachable(.ethernetOrWiFi) }

    // MARK: Listening

    /// Calls `listener` with the present status soon, and then with each status that differs from the one before.
    ///
    /// An earlier listener is replaced, and is not called any more.
    ///
    /// - Parameters:
    ///   - queue: where `listener` is called; the main queue by default.
    ///   - listener: takes the status.
    /// - Returns: false when the kernel does not allow listening.
    @discardableResult
    @preconcurrency
    open func startListening(
        onQueue queue: DispatchQueue = .main, onUpdatePerforming listener: @escaping Listener
    ) -> Bool {
        stopListening()
        guard let monitor = NetworkMonitor(queue: reachabilityQueue, onChange: { [weak self] in self?.update() }) else {
            return false
        }
        state.withLock { state in
            state.count += 1
            state.listening = Listening(
                listener: listener, queue: queue, monitor: monitor, number: state.count, previous: nil)
        }
        reachabilityQueue.async { [weak self] in self?.update() }
        return true
    }

    /// Ends listening; the listener is released, and is not called any more.
    open func stopListening() {
        // Released outside the lock: releasing the listener may run any code in a `deinit`.
        let ended = state.withLock { state in
            defer { state.listening = nil }
            return state.listening
        }
        _ = ended
    }

    /// Reads the tables and reports a changed status; on the reachability queue.
    private func update() {
        resolveInBackground()
        let status = subject.status
        if subject.needsResolution, status == .notReachable, state.withLock({ $0.listening?.previous == nil }) {
            return  // the first status of a name is reported after the look-up
        }
        notify(status)
    }

    private func notify(_ status: NetworkReachabilityStatus) {
        let listening = state.withLock { state -> Listening? in
            guard state.listening != nil, state.listening?.previous != status else { return nil }
            state.listening?.previous = status
            return state.listening
        }
        guard let listening else { return }
        listening.queue.async { [weak self] in
            guard let self, self.state.withLock({ $0.listening?.number == listening.number }) else { return }
            listening.listener(status)
        }
    }

    /// Looks the name up on a queue that may block, if it has no address yet.
    private func resolveInBackground() {
        guard subject.needsResolution else { return }
        resolutionQueue.async { [weak self] in
            guard let self, self.subject.needsResolution else { return }
            _ = self.subject.resolve()
            self.reachabilityQueue.async { [weak self] in
                guard let self else { return }
                self.notify(self.subject.status)
            }
        }
    }
}

extension NetworkReachabilityManager {
    /// The present status and the status after each change, until the iterator is released; independent of the
    /// listener.
    ///
    /// A reader that is slower than the changes gets the newest status.
    public func statuses() -> StreamOf<NetworkReachabilityStatus> {
        StreamOf { [subject] in
            let manager = NetworkReachabilityManager(subject: subject)
            let buffer = StreamBuffer<NetworkReachabilityStatus>(limit: .newest(1))
            let isListening = manager.startListening(onQueue: manager.reachabilityQueue) { buffer.push($0) }
            if !isListening {
                buffer.push(.unknown)
                buffer.finish()
            }
            return StreamSource {
                await buffer.next()
            } onTermination: {
                manager.stopListening()
                buffer.finish()
            }
        }
    }
}
