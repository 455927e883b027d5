// Content from standard input.

import CommandLanguage
import Foundation
import Glibc

/// Standard input had not ended at the limit on the whole (`--max-time`).
struct InputTimeOut: Error {
    /// The limit.
    let seconds: Double
}

/// Reads the content that is piped or redirected into the command.
enum StandardInput {
    /// The content, or where to read it.
    enum Content: Sendable {
        /// The whole content, in memory: its length is known, and it can be sent again.
        case data(Data)
        /// A file that is read as it is sent.
        case file(URL)
        /// The beginning, and the rest, which is still to be read.
        case rest(Rest)
    }

    /// A beginning that was read, and the rest of standard input, which is read as it is sent.
    struct Rest: Sendable {
        fileprivate let first: [UInt8]

        /// Returns the beginning and the rest as one stream; to be called once.
        func stream() -> InputStream { DescriptorStream(after: first) }
    }

    /// The most bytes of content that are kept in memory; longer content is read as it is sent.
    private static let memoryLimit = 1 << 20
    /// The time without content after which a message says what the command waits for.
    private static let timeout = Duration.seconds(10)

    /// Returns the content of standard input if it is a file, a pipe or a socket, or an option names it, and no other
    /// content is given; otherwise, and if it is empty, `nil`.
    ///
    /// Waits for the end of standard input, or until more has arrived than is kept in memory; what the wait takes is
    /// noted in the invocation, since it counts for the limit on the whole. Throws `InputTimeOut` at that limit.
    static func content(for invocation: inout Invocation) throws -> Content? {
        guard !invocation.ignoresStandardInput, !invocation.goesOn, invocation.rawBody == nil,
            invocation.curl.map(\.uploadsStandardInput) ?? true, !invocation.items.contains(where: \.isData),
            invocation.uploadFile == nil || invocation.uploadFile == "-",
            let kind = kind ?? (invocation.uploadFile == nil && invocation.curl == nil ? nil : S_IFCHR)
        else { return nil }
        let limit = invocation.isStreamed ? 1 : memoryLimit
        if kind == S_IFREG, let file = file(longerThan: limit) { return .file(file) }
        let start = ContinuousClock.now
        defer { invocation.secondsBeforeSending = (ContinuousClock.now - start) / .seconds(1) }
        let end = invocation.maximumTime.map { start + .seconds($0) }
        if try !waits(until: min(start + timeout, end ?? start + timeout), invocation.maximumTime, end) {
            Terminal.tell("fireweed: waiting for content on standard input; --ignore-stdin sends none\n")
        }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while bytes.count < limit {
            if let end { _ = try waits(until: end, invocation.maximumTime, end) }
            let count = readPiece(&buffer)
            guard count > 0 else { return bytes.isEmpty ? nil : .data(Data(bytes)) }
            bytes += buffer.prefix(count)
        }
        return .rest(Rest(first: bytes))
    }

    /// Returns the file behind standard input, if it is longer than `limit`, still at its beginning, and can be opened
    /// again.
    private static func file(longerThan limit: Int) -> URL? {
        var status = stat()
        guard fstat(STDIN_FILENO, &status) == 0, status.st_size > off_t(limit), lseek(STDIN_FILENO, 0, SEEK_CUR) == 0
        else { return nil }
        let path = "/proc/self/fd/\(STDIN_FILENO)"
        return access(path, R_OK) == 0 ? URL(fileURLWithPath: path, isDirectory: false) : nil
    }

    /// Waits until there is content, or the end of it; false when there is none at `moment`.
    ///
    /// Throws `InputTimeOut` when that is `end`, the end of the `limit` on the whole.
    private static func waits(
        until moment: ContinuousClock.Instant, _ limit: Double?, _ end: ContinuousClock.Instant?
    ) throws -> Bool {
        while true {
            let left = (moment - .now) / .milliseconds(1)
            var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            let count = poll(&input, 1, Int32(min(max(left.rounded(.up), 0), 1_000_000)))
            if count > 0 || count < 0 && errno != EINTR { return true }
            guard ContinuousClock.now >= moment else { continue }
            if let limit, moment == end { throw InputTimeOut(seconds: limit) }
            return false
        }
    }

    /// Reads with read(2): Foundation's own reading ends the process if a signal interrupts it.
    fileprivate static func readPiece(_ buffer: inout [UInt8]) -> Int {
        while true {
            let count = read(STDIN_FILENO, &buffer, buffer.count)
            if count >= 0 || errno != EINTR { return count }
        }
    }

    /// The kind of file behind standard input; `nil` if content is not read from this kind.
    private static var kind: mode_t? {
        var status = stat()
        guard fstat(STDIN_FILENO, &status) == 0 else { return nil }
        let kind = status.st_mode & S_IFMT
        return [S_IFREG, S_IFIFO, S_IFSOCK].contains(kind) ? kind : nil
    }
}

/// A stream of a descriptor's bytes, after bytes that were already read from it.
///
/// Reads with read(2), since Foundation's stream for a path requires a regular file.
final class DescriptorStream: InputStream {
    private var first: ArraySlice<UInt8>
    private let path: String?
    private var descriptor: Int32
    private var status = Stream.Status.notOpen
    private var failure: (any Error)?

    /// Makes a stream of bytes that were read from standard input, and then of its rest.
    init(after first: [UInt8]) {
        self.first = first[...]
        path = nil
        descriptor = STDIN_FILENO
        super.init(data: Data())
    }

    /// A stream in place of one that was read already: an error, since its content cannot be read again.
    static var spent: DescriptorStream {
        let stream = DescriptorStream(after: [])
        stream.status = .error
        stream.failure = URLError(.requestBodyStreamExhausted)
        return stream
    }

    /// Makes a stream of the file at a path, which `open()` opens.
    init(path: String) {
        first = []
        self.path = path
        descriptor = -1
        super.init(data: Data())
    }

    override var streamStatus: Stream.Status { status }
    override var streamError: (any Error)? { failure }
    override var hasBytesAvailable: Bool { status == .open }

    override func open() {
        guard status == .notOpen else { return }
        status = .open
        guard let path else { return }
        descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        if descriptor < 0 { fail() }
    }

    override func close() {
        status = .closed
        if path != nil, descriptor >= 0 { Glibc.close(descriptor) }
        descriptor = path == nil ? descriptor : -1
    }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int {
        guard status == .open, length > 0 else { return status == .error ? -1 : 0 }
        if !first.isEmpty {
            let piece = first.prefix(length)
            buffer.update(from: Array(piece), count: piece.count)
            first = first.dropFirst(piece.count)
            return piece.count
        }
        while true {
            let count = Glibc.read(descriptor, buffer, length)
            if count < 0, errno == EINTR { continue }
            if count < 0 { fail() } else if count == 0 { status = .atEnd }
            return count
        }
    }

    private func fail() {
        failure = POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        status = .error
    }

    override func getBuffer(
        _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length: UnsafeMutablePointer<Int>
    ) -> Bool {
        false
    }
}
