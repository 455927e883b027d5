// The groups of events that monitors want.

/// Groups of the events of an ``EventMonitor``.
///
/// A monitor that names the groups it has methods for costs less: events that no monitor wants are not announced, and
/// their values (Foundation's requests, responses, tasks, and metrics) are not made.
///
/// ```swift
/// import Synchronization
///
/// final class Counter: EventMonitor {
///     let finished = Mutex(0)
///     var events: MonitoredEvents { [.completion] }
///     func requestDidFinish(_ request: Request) { finished.withLock { $0 += 1 } }
/// }
/// ```
public struct MonitoredEvents: OptionSet, Sendable, Hashable {
    /// One bit for each group.
    public let rawValue: UInt32

    /// Makes a set of groups.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// `requestDidResume`, `requestDidSuspend`, `requestDidCancel` and `requestIsRetrying`.
    public static let lifecycle = MonitoredEvents(rawValue: 1 << 0)
    /// `requestDidFinish`.
    public static let completion = MonitoredEvents(rawValue: 1 << 1)
    /// The making and the adaptation of the `URLRequest`, and their failures.
    public static let requestMaking = MonitoredEvents(rawValue: 1 << 2)
    /// `didCreateTask`, `didResumeTask`, `didSuspendTask` and `didCancelTask`.
    public static let tasks = MonitoredEvents(rawValue: 1 << 3)
    /// `didCompleteWithError`, `didFailTask` and `didCompleteTask`.
    public static let taskEnds = MonitoredEvents(rawValue: 1 << 4)
    /// A task's `didReceive response`.
    public static let responses = MonitoredEvents(rawValue: 1 << 5)
    /// A task's `didReceive data` and `didWriteData`.
    public static let content = MonitoredEvents(rawValue: 1 << 6)
    /// `didFinishCollecting` and `didGatherMetrics`.
    public static let metrics = MonitoredEvents(rawValue: 1 << 7)
    /// `didValidateRequest`.
    public static let validation = MonitoredEvents(rawValue: 1 << 8)
    /// `didParseResponse` and `didParseStream`.
    public static let parsing = MonitoredEvents(rawValue: 1 << 9)
    /// `willPerformHTTPRedirection`.
    public static let redirects = MonitoredEvents(rawValue: 1 << 10)
    /// `didReceive challenge`.
    public static let challenges = MonitoredEvents(rawValue: 1 << 11)
    /// The content of an upload: its making, its streams, and `didSendBodyData`.
    public static let uploads = MonitoredEvents(rawValue: 1 << 12)
    /// The file of a download: `didResumeAtOffset`, `didFinishDownloadingTo`, `didCreateDestinationURL` and
    /// `didFinishDownloadingUsing`.
    public static let downloads = MonitoredEvents(rawValue: 1 << 13)
    /// `willCacheResponse`.
    public static let caching = MonitoredEvents(rawValue: 1 << 14)
    /// `taskIsWaitingForConnectivity` and `isWaitingForRateLimit`.
    public static let waiting = MonitoredEvents(rawValue: 1 << 15)
    /// `didBecomeInvalidWithError`.
    public static let invalidation = MonitoredEvents(rawValue: 1 << 16)
    /// `wasRefused`.
    public static let refusals = MonitoredEvents(rawValue: 1 << 17)

    /// Every event, including events that later versions add.
    public static let all = MonitoredEvents(rawValue: .max)
}
