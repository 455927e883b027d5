// Reading of a list, line by line.

import CommandLanguage
import Dispatch
import Fireweed
import Foundation
import Glibc

/// A line of a list.
enum FetchLine: Sendable, Equatable {
    /// The bytes without the line break.
    case text([UInt8])
    /// The beginning of a line that is longer than `maximumByteCount`.
    case tooLong([UInt8])

    static let maximumByteCount = 1 << 20
}

/// Splits bytes into lines; pure.
///
/// Empty lines, and lines that begin with `#`, are left out.
struct FetchLineSplitter {
    private var held: [UInt8] = []
    private var isTooLong = false
    private var isAtStart = true

    /// Adds bytes, and returns the lines that are now complete.
    mutating func append(_ bytes: ArraySlice<UInt8>) -> [FetchLine] {
        var lines: [FetchLine] = []
        var rest = bytes
        while let end = rest.firstIndex(of: 0x0A) {
            hold(rest[..<end])
            if let line = takeLine() { lines.append(line) }
            rest = rest[(end + 1)...]
        }
        hold(rest)
        return lines
    }

    /// Returns the last line, if it does not end in a line break.
    mutating func finish() -> [FetchLine] { takeLine().map { [$0] } ?? [] }

    private mutating func hold(_ bytes: ArraySlice<UInt8>) {
        let room = FetchLine.maximumByteCount - held.count
        if bytes.count > room { isTooLong = true }
        held += bytes.prefix(max(0, room))
    }

    private mutating func takeLine() -> FetchLine? {
        defer { (held, isTooLong, isAtStart) = ([], false, false) }
        var line = held[...]
        // Drops a byte order mark, which some editors write.
        if isAtStart, line.starts(with: [0xEF, 0xBB, 0xBF]) { line = line.dropFirst(3) }
        if isTooLong { return .tooLong(Array(line.prefix(1024))) }
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }
        line = line.drop(while: isSpace)
        while let last = line.last, isSpace(last) { line.removeLast() }
        guard let first = line.first, first != UInt8(ascii: "#") else { return nil }
        return .text(Array(line))
    }
}

/// Reads the lines of a list: the URLs of the command line, then a file or standard input.
///
/// Used only on the queue of `FetchInput`.
private final class FetchLineReader {
    private var patterns: ArraySlice<URLGlob>
    private var patternIndex = 0
    private var descriptor: Int32?
    private var splitter = FetchLineSplitter()
    private var buffer = [UInt8](repeating: 0, count: 64 * 1024)

    init(patterns: [URLGlob], descriptor: Int32?) {
        self.patterns = patterns[...]
        self.descriptor = descriptor
    }

    /// Returns the next lines, perhaps none; `nil` at the end.
    ///
    /// Blocks while a pipe is empty. Throws `OutputError`.
    func next() throws -> [FetchLine]? {
        if let pattern = patterns.first {
            let end = min(pattern.count, patternIndex + 64)
            let lines = (patternIndex..<end).map { FetchLine.text(Array(pattern.url(at: $0).text.utf8)) }
            patternIndex = end == pattern.count ? 0 : end
            if end == pattern.count { patterns = patterns.dropFirst() }
            return lines
        }
        guard let descriptor else { return nil }
        let count = read(descriptor, &buffer, buffer.count)
        if count > 0 { return splitter.append(buffer[..<count]) }
        if count < 0 {
            if errno == EINTR { return [] }
            throw OutputError(errorDescription: "the list cannot be read: \(String(cString: strerror(errno)))")
        }
        self.descriptor = nil
        return splitter.finish()
    }
}

/// Reads the list of a run on a separate queue, since a read from a pipe may block.
final class FetchInput: Sendable {
    /// The result of a read.
    enum Answer: Sendable {
        case lines([FetchLine])
        case end
        case failure(String)
    }

    private let queue = DispatchQueue(label: "fireweed.fetch.input")
    // SAFETY: used only on `queue`.
    private nonisolated(unsafe) let reader: FetchLineReader
    private let patterns: [URLGlob]
    /// The path of the list; `nil` for standard input, and for a run whose URLs are only on the command line.
    private let path: String?

    /// Opens the list; throws `UsageError`, and `OutputError` for a file that cannot be read.
    init(_ invocation: Invocation) throws {
        patterns = invocation.urlPatterns
        let file = invocation.listFile ?? (invocation.urlPatterns.isEmpty ? "-" : nil)
        path = file == "-" ? nil : file
        var descriptor: Int32?
        if file == "-" {
            guard !Terminal.isInput else {
                throw UsageError(message: "there are no URLs: name them, or a list with --from, or pipe a list in")
            }
            descriptor = STDIN_FILENO
        } else if let file {
            descriptor = try Self.open(file)
        }
        reader = FetchLineReader(patterns: patterns, descriptor: descriptor)
    }

    private static func open(_ file: String) throws -> Int32 {
        let descriptor = Glibc.open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw OutputError(errorDescription: "\(file) cannot be read: \(String(cString: strerror(errno)))")
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else {
            throw OutputError(errorDescription: "\(file) cannot be read: it is a folder")
        }
        return descriptor
    }

    /// Reads some lines, and calls `handler` with them on the queue.
    func read(_ handler: @escaping @Sendable (Answer) -> Void) {
        queue.async { [self] in
            do {
                handler(try reader.next().map { .lines($0) } ?? .end)
            } catch {
                handler(.failure(error.plainText))
            }
        }
    }

    /// Returns the number of items; `nil` if it is known only at the end.
    ///
    /// Reads the whole file once more.
    func count() -> Int? {
        let known = patterns.reduce(0) { $0 + $1.count }
        var status = stat()
        guard let path else { return patterns.isEmpty ? nil : known }
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, let descriptor = try? Self.open(path) else {
            return nil
        }
        defer { close(descriptor) }
        let reader = FetchLineReader(patterns: [], descriptor: descriptor)
        var count = known
        while let lines = try? reader.next() { count += lines.count }
        return count
    }
}
