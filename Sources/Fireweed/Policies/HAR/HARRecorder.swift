// Exchanges recorded as an HTTP archive.

public import Dispatch
public import Foundation
import FoundationNetworking
import Synchronization

/// Records every exchange of a session, or of a request, as an HTTP Archive (HAR 1.2), which browsers' developer tools
/// read.
///
/// Each transaction is an entry: redirects, answers to challenges and retries are further entries. Secrets are removed
/// as `redaction` says. The archive grows in memory until `removeAll()`.
///
/// ```swift
/// let recorder = HARRecorder()
/// let session = Session(eventMonitors: [recorder])
/// // …
/// try recorder.write(to: URL(fileURLWithPath: "exchange.har"))
/// ```
public final class HARRecorder: EventMonitor {
    /// The recorder's own serial queue.
    public let queue = DispatchQueue(label: "fireweed.archive")
    private let includesContent: Bool
    private let maximumContentByteCount: Int
    private let redaction: Redaction
    private let state = Mutex(State())

    private struct State: Sendable {
        var entries: [HAREntry] = []
        /// The content of tasks that have not ended.
        var content: [URLSessionTask: Data] = [:]
    }

    /// Makes a recorder.
    ///
    /// - Parameters:
    ///   - includesContent: whether content of requests and responses is recorded; not by default. Content of downloads
    ///     and of uploaded files and streams never is.
    ///   - maximumContentByteCount: how many bytes of each content are recorded; 1 MiB by default.
    ///   - redaction: the secrets to remove, besides the fields in the session's
    ///     `TransportOptions.credentialFieldNames`. In forms, JSON, XML and server-sent events, the secret members are
    ///     removed; most content of other types is removed as a whole.
    public init(
        includesContent: Bool = false, maximumContentByteCount: Int = 1 << 20, redaction: Redaction = .standard
    ) {
        self.includesContent = includesContent
        self.maximumContentByteCount = max(0, maximumContentByteCount)
        self.redaction = redaction
    }

    // MARK: The archive

    /// The archive as JSON, with every event before this call; waits for the recorder's queue.
    public var archive: Data {
        get throws {
            queue.sync {}
            return try HARDocument(entries: state.withLock { $0.entries }).encoded()
        }
    }

    /// The number of entries.
    public var entryCount: Int {
        queue.sync {}
        return state.withLock { $0.entries.count }
    }

    /// Writes the archive to a file that only this user can read (mode 0600), and replaces an existing file.
    ///
    /// A symbolic link is followed; a device or a pipe is written to. Throws `CocoaError` when writing fails, for
    /// instance for a folder.
    public func write(to url: URL) throws {
        do {
            try FileInstaller.writePrivately(archive, to: url)
        } catch let failure as FileFailure {
            throw failure.cocoaError
        }
    }

    /// Removes every entry.
    public func removeAll() {
        queue.sync {}
        state.withLock { $0.entries = [] }
    }

    // MARK: Events

    /// The events that the recorder needs: the ends of tasks, and content if it is recorded.
    public var events: MonitoredEvents { includesContent ? [.taskEnds, .content] : .taskEnds }

    /// Keeps content, if content is recorded.
    public func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        guard includesContent else { return }
        state.withLock { state in
            let room = maximumContentByteCount - (state.content[dataTask]?.count ?? 0)
            if room > 0 { state.content[dataTask, default: Data()].append(data.prefix(room)) }
        }
    }

    /// Makes the entries of a task.
    public func request(_ request: Request, didCompleteTask task: URLSessionTask, with error: AFError?) {
        let content = state.withLock { $0.content.removeValue(forKey: task) }
        guard let transactions = task.metrics?.transactionMetrics else { return }
        let writer = HARWriter(redaction: redaction.hiding(fields: request.core.settings.ownHiddenFieldNames))
        let sent = includesContent ? sentContent(of: request, task)?.prefix(maximumContentByteCount) : nil
        let entries = transactions.enumerated().map { index, transaction in
            let isLast = index == transactions.count - 1
            return writer.entry(
                of: transaction, sent: transaction.countOfRequestBodyBytesSent > 0 ? sent.map { Data($0) } : nil,
                received: isLast ? content : nil, error: isLast ? error : nil)
        }
        state.withLock { $0.entries += entries }
    }

    private func sentContent(of request: Request, _ task: URLSessionTask) -> Data? {
        request.parts.content.data ?? task.originalRequest?.httpBody
    }
}

extension HARRecorder: OutcomeMonitor {}
