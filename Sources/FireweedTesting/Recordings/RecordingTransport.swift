// A transport that replays an archive, or makes one.

public import Fireweed
public import Foundation
import Synchronization

/// Replays an HTTP archive (HAR 1.2), or sends requests and records them in the archive, depending on the mode.
///
/// ```swift
/// let transport = try RecordingTransport(contentsOf: file, mode: .recordMissing)
/// let session = Session(transport: transport)
/// // …
/// try transport.save()
/// ```
///
/// `withRecording` makes a session on such a transport, and saves the archive. Messages are recorded as they are on the
/// wire, after adapters and cookies: each exchange, including those of redirects, is an entry with decoded content, and
/// each WebSocket is an entry with its messages.
///
/// `redaction` defines the secrets that are left out: the values of fields, of parameters and segments in URLs, and of
/// members in JSON, forms, XML and server-sent events. Requests' content that cannot be searched for secrets, such as
/// text and multipart forms, is not recorded; in a replay, such a request is found by method and URL. Responses'
/// content of such types is recorded unchanged unless it is JSON, since it is needed for the replay: look at an archive
/// before you share it.
///
/// The content of a request is read whole into memory before it is sent, in every mode.
public final class RecordingTransport: Transport {
    /// The choice between replaying, recording and sending.
    public let mode: RecordingMode
    /// The archive's exchanges as stubs, and all requests of the session.
    public let stubs: Stubs
    /// The exchanges that the archive had; `nil` when there was no archive, or when the mode does not replay.
    public let recording: Recording?
    private let file: ArchiveFile
    /// The number of exchanges that were saved in the mode `recordMissing`.
    private let savedCount = Mutex(0)
    private let base: any Transport
    private let stubTransport: StubTransport
    private let archive: ArchiveBuilder

    /// Makes a transport; nothing is sent and nothing is written yet.
    ///
    /// - Parameters:
    ///   - url: the archive's file, which must exist for ``RecordingMode/replay``.
    ///   - mode: the choice between replaying, recording and sending; by default the mode that `FIREWEED_RECORDING`
    ///     names, else ``RecordingMode/replay``.
    ///   - match: how a request finds its exchange.
    ///   - redaction: the secrets to leave out of the archive; `Redaction.none` records everything.
    ///   - base: the transport that sends; an `EngineTransport` with default options by default.
    /// - Throws: ``RecordingError`` for a file that is not an archive, or is missing in ``RecordingMode/replay``;
    ///   `CocoaError` for a file that cannot be read.
    public init(
        contentsOf url: URL, mode: RecordingMode = .environment, matching match: RecordingMatch = .request,
        redaction: Redaction = .standard, wrapping base: any Transport = EngineTransport()
    ) throws {
        file = ArchiveFile(url: url)
        self.mode = mode
        self.base = base
        let isReplayed = mode == .replay || mode == .recordMissing
        let isThere = FileManager.default.fileExists(atPath: url.path)
        guard mode != .replay || isThere else {
            throw RecordingError(
                "There is no recording \(url.path): make it with FIREWEED_RECORDING=record-missing, or in the mode "
                    + "recordMissing.")
        }
        let data = isReplayed && isThere ? try Data(contentsOf: url) : nil
        recording = try data.map { try Recording(har: $0) }
        let own = CredentialFields.ownHiddenNames(base.options.credentialFieldNames)
        archive = ArchiveBuilder(redaction: redaction.hiding(fields: own))
        let fallback: (any Transport)? =
            switch mode {
            case .replay: nil
            case .recordMissing, .rerecord: ArchivingTransport(base, archive)
            case .passThrough: base
            }
        stubs = Stubs(recording?.stubs(matching: match) ?? [], allowsUnmatched: fallback != nil, hiding: own)
        stubTransport = StubTransport(stubs: stubs, clock: base.clock, fallback: fallback)
    }

    /// The number of exchanges recorded since the transport was made.
    public var recordedCount: Int { archive.count }

    /// Writes the recorded exchanges to the archive; creates its folder if necessary.
    ///
    /// Does nothing in the modes that do not record, and in ``RecordingMode/recordMissing`` when nothing was missing.
    /// Exchanges that have not ended are not written. Tests of one process may record into the same archive, even at
    /// the same time: the archive gets the exchanges of all of them.
    ///
    /// - Throws: `CocoaError` when the file cannot be written, ``RecordingError`` when the existing file is not an
    ///   archive.
    public func save() throws {
        switch mode {
        case .replay, .passThrough: return
        case .rerecord: try file.renew(archive.entries())
        case .recordMissing:
            try savedCount.withLock { savedCount in
                let entries = archive.entries(droppingFirst: savedCount)
                guard !entries.isEmpty else { return }
                try file.append(entries)
                savedCount += entries.count
            }
        }
    }

    // MARK: Transport

    /// The abilities of stubs in ``RecordingMode/replay``, else those of the wrapped transport.
    public var abilities: TransportAbilities { mode == .replay ? stubTransport.abilities : base.abilities }
    /// The wrapped transport's options.
    public var options: TransportOptions { base.options }
    /// The wrapped transport's clock.
    public var clock: any SessionClock { base.clock }
    /// The wrapped transport's statistics.
    public var statistics: [OriginStatistics] { base.statistics }
    /// `nil`: stubs answer on a dispatch queue.
    public var executor: (any TaskExecutor)? { nil }

    /// Passes the rules to the wrapped transport.
    public func evaluateServers(with rules: ServerTrustRules) { base.evaluateServers(with: rules) }
    /// Closes the wrapped transport's idle connections.
    public func closeIdleConnections() { base.closeIdleConnections() }

    /// Ends every transfer as cancelled, including transfers that start later.
    public func shutDown() {
        stubTransport.shutDown()
        base.shutDown()
    }

    /// Makes a transfer that the archive or the wrapped transport answers.
    public func makeTransfer(of message: RequestMessage, for consumer: any TransferConsumer)
        -> any TransferControl
    {
        stubTransport.makeTransfer(of: message, for: consumer)
    }
}

/// Sends through another transport, and records every exchange.
private final class ArchivingTransport: TransportDecorator, @unchecked Sendable {
    // SAFETY: every stored property is a `let` of `Sendable` type.

    private let archive: ArchiveBuilder

    init(_ base: any Transport, _ archive: ArchiveBuilder) {
        self.archive = archive
        super.init(base)
    }

    override func makeTransfer(
        of message: consuming RequestMessage, for consumer: any TransferConsumer
    ) -> any TransferControl {
        var message = message
        let observer = ExchangeObserver(message, consumer, archive, startedAt: base.clock.now)
        if let offer = message.webSocket {
            message.webSocket?.listener = WebSocketObserver(offer.listener, observer)
        }
        return base.makeTransfer(of: message, for: observer)
    }
}
