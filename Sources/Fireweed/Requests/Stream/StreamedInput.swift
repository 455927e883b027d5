// A stream's content as an `InputStream`.

import Dispatch
import FireweedTransport
public import Foundation
import Synchronization

extension DataStreamRequest {
    /// Resumes the request, and returns its content as an `InputStream`.
    ///
    /// `read` blocks until bytes come. While at least `bufferSize` bytes wait to be read, nothing is read from the
    /// network; the last piece may exceed `bufferSize`. At the end of the request `read` returns 0, or -1 when the
    /// request failed; `streamError` is then the request's ``AFError``. When a stream is closed early, the rest of the
    /// content is dropped, and the request continues until it ends or is cancelled. A second call makes another stream
    /// and ends the first one.
    ///
    /// Like the sequences, the stream gets the content of one response only, which the validators accept. After the
    /// first bytes there is no retry.
    ///
    /// One thread at a time may use the stream. It has no run loop, and `read` blocks the thread.
    public func asInputStream(bufferSize: Int = 1024) -> InputStream? {
        let conduit = InputConduit(request: self, capacity: max(1, bufferSize))
        receiver.replaceInput(by: conduit)?.end(with: nil)
        _ = add(conduit as any StreamSink)
        resume()
        return StreamedInput(conduit)
    }
}

/// The reading end: the stream that users get.
private final class StreamedInput: InputStream {
    private let conduit: InputConduit
    private var status = Stream.Status.notOpen

    init(_ conduit: InputConduit) {
        self.conduit = conduit
        super.init(data: Data())
    }

    deinit { conduit.close() }

    override func open() {
        if status == .notOpen { status = .open }
    }

    override func close() {
        status = .closed
        conduit.close()
    }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
        guard status == .open || status == .atEnd, maxLength > 0 else { return status == .atEnd ? 0 : -1 }
        let count = conduit.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: maxLength))
        if count == 0 { status = .atEnd }
        if count < 0 { status = .error }
        return count
    }

    override func getBuffer(
        _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length: UnsafeMutablePointer<Int>
    ) -> Bool { false }

    override var hasBytesAvailable: Bool { status == .open && conduit.mayHaveBytes }
    override var streamStatus: Stream.Status { status }
    override var streamError: (any Error)? { conduit.error }
}

/// The writing end: buffers bytes for a reader that may wait for them.
final class InputConduit: StreamSink {
    private struct State {
        var request: DataStreamRequest?
        var pieces = ElementQueue<Data>()
        /// The unread rest of the current piece.
        var piece = Data()
        var byteCount = 0
        var isOver = false
        var error: AFError?
        var reader: DispatchGroup?

        mutating func takeReader() -> DispatchGroup? {
            defer { reader = nil }
            return reader
        }
    }

    private enum ReadResult {
        case bytes(Data, resuming: DataStreamRequest?)
        case end(Int)
        case wait(DispatchGroup)
    }

    private let capacity: Int
    private let state: Mutex<State>

    init(request: DataStreamRequest, capacity: Int) {
        self.capacity = capacity
        state = Mutex(State(request: request))
    }

    // MARK: The reader's side

    var error: AFError? { state.withLock { $0.isOver ? $0.error : nil } }
    var mayHaveBytes: Bool { state.withLock { $0.byteCount > 0 || !$0.isOver } }

    /// Waits for bytes and reads them; 0 at the end, -1 after a failure.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        while true {
            switch take(atMost: buffer.count) {
            case .bytes(let bytes, let request):
                bytes.copyBytes(to: buffer)
                request?.lastAttempt?.resumeIntake()
                return bytes.count
            case .end(let result): return result
            case .wait(let group): group.wait()
            }
        }
    }

    private func take(atMost most: Int) -> ReadResult {
        state.withLock { state in
            if state.piece.isEmpty, let next = state.pieces.popFirst() { state.piece = next }
            guard !state.piece.isEmpty else {
                if state.isOver { return .end(state.error == nil ? 0 : -1) }
                let group = state.reader ?? DispatchGroup()
                if state.reader == nil { group.enter() }
                state.reader = group
                return .wait(group)
            }
            let bytes = state.piece.prefix(most)
            state.piece = bytes.count == state.piece.count ? Data() : state.piece.dropFirst(most)
            let wasFull = state.byteCount >= capacity
            state.byteCount -= bytes.count
            return .bytes(bytes, resuming: wasFull && state.byteCount < capacity ? state.request : nil)
        }
    }

    /// Called when the reader is gone: drops content, and never pauses the transport again.
    func close() {
        let (reader, request) = state.withLock { state in
            defer { state = State(isOver: true, error: state.error) }
            return (state.reader, state.request)
        }
        reader?.leave()
        guard let request else { return }
        request.receiver.remove(self)
        request.lastAttempt?.resumeIntake()
    }

    // MARK: The request's side

    /// True because the reader cannot distinguish the content of a retry from the rest of the first content.
    var isSequence: Bool { true }

    var isFull: Bool { state.withLock { $0.byteCount >= capacity } }

    func receive(_ data: Data) {
        let reader = state.withLock { state -> DispatchGroup? in
            guard !state.isOver, !data.isEmpty else { return nil }
            state.pieces.append(data)
            state.byteCount += data.count
            return state.takeReader()
        }
        reader?.leave()
    }

    func restart() {
        state.withLock { state in
            state.pieces = ElementQueue()
            state.piece = Data()
            state.byteCount = 0
        }
    }

    func finish(isWhole: Bool) {}

    /// Ends the stream after the bytes that wait to be read.
    func end(with error: AFError?) {
        let (reader, request) = state.withLock { state in
            if !state.isOver { state.error = error }
            state.isOver = true
            defer { state.request = nil }
            return (state.takeReader(), state.request)
        }
        reader?.leave()
        request?.receiver.remove(self)
        request?.lastAttempt?.resumeIntake()
    }

    func serialise() -> AFError? { nil }
    func fail(with error: AFError) {}
    func wakeForConclusion() -> Bool { false }

    func deliver() {
        end(with: state.withLock { $0.request }?.error)
    }
}
