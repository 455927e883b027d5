// A transport that replays an archive, or makes one.

public import Fireweed
public import Foundation
import Synchronization

/// Answers from an HTTP archive (HAR 1.2), sends what is not in it, or records what it sends, as its mode says.
///
/// ```swift
/// let transport = try RecordingTransport(contentsOf: file, mode: .recordMissing)
/// let session = Session(transport: transport)
/// // …
/// try transport.save()
/// ```
///
/// `withRecording` makes a session on one, and saves. What is recorded is what is on the wire, after adapters, cookies
/// and redirects: each exchange is an entry, with its content decoded, and each WebSocket with its messages.
///
/// Secrets are left out as `redaction` says: the values of fields, of parameters and segments in URLs, and of members
/// in JSON, forms, XML and server-sent events. Requests' content in which secrets cannot be looked for, such as text
/// and multipart forms, is not recorded; such a request is found again by method and URL. Responses' content of such
/// types is recorded as it came, since nothing could be replayed without it: look at an archive before you share it.
///
/// While it records, the content of requests is read whole into memory before it is sent.
public final class RecordingTransport: Transport {
    /// What the transport does with a request.
    public let mode: RecordingMode
    /// The archive's exchanges as stubs, and everything that was asked.
    public let stubs: Stubs
    /// The exchanges that the archive had; `nil` where there was no archive, or where it is not replayed.
    public let recording: Recording?
    private let file: ArchiveFile
    /// How many exchanges were saved.
    private let savedCount = Mutex(0)
    private let base: any Transport
    private let stubTransport: StubTransport
    private let archive: ArchiveBuilder

    /// Makes a transport; nothing is sent and nothing is written yet.
    ///
    /// - Parameters:
    ///   - url: the archive's file. It has to be there for ``RecordingMode/replay``.
    ///   - mode: what is replayed, and what is sent and recorded; by default what `FIREWEED_RECORDING` says, else
    ///     ``RecordingMode/replay``.
    ///   - match: how a request finds its exchange.
    ///   - redaction: what is left out of the archive; `Redaction.none` records everything.
    ///   - base: what sends; an `EngineTransport` with default options by default.
    /// - Throws: ``RecordingError`` for a file that is not an archive, `CocoaError` for one that cannot be read.
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

    /// How many exchanges were recorded since the transport was made.
    public var recordedCount: Int { archive.count }

    /// Writes the archive, with what was recorded; its folder is made where it is missing.
    ///
    /// Does nothing in the modes that do not record, and in ``RecordingMode/recordMissing`` when nothing was missing.
    /// Exchanges that have not ended are not in it. Tests of one process may record into the same archive, at the same
    /// time too: what each of them records is in it.
    ///
    /// - Throws: `CocoaError` when the file cannot be written, ``RecordingError`` when the file that is there is no
    ///   archive any more.
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

    /// Those of stubs where nothing is sent, else those of the wrapped transport.
    public var abilities: TransportAbilities { mode == .replay ? stubTransport.abilities : base.abilities }
    /// The wrapped transport's.
    public var options: TransportOptions { base.options }
    /// The wrapped transport's.
    public var clock: any SessionClock { base.clock }
    /// The wrapped transport's.
    public var statistics: [OriginStatistics] { base.statistics }
    /// None: stubs answer on a queue.
    public var executor: (any TaskExecutor)? { nil }

    /// Hands the rules to the wrapped transport.
    public func evaluateServers(with rules: ServerTrustRules) { base.evaluateServers(with: rules) }
    /// Closes those of the wrapped transport.
    public func closeIdleConnections() { base.closeIdleConnections() }

    /// Ends every transfer as cancelled, later ones too.
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

/// Sends by another transport, and notes every exchange.
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
