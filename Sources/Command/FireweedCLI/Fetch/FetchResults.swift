// The output for the records of a run.

import CommandLanguage
import Dispatch
import Fireweed
import Foundation
import Glibc
import Synchronization

/// Appends records to a file or to standard output, on a separate serial queue.
///
/// A file of records is its own journal. For standard output a journal can be named: it gets the start of each
/// successful record, after the record was written.
final class FetchResults: Sendable {
    /// The result of a write.
    enum Answer: Sendable {
        case written
        /// The reader of the pipe has closed it.
        case readerGone
        case failure(String)
    }

    /// A file to which records are appended.
    ///
    /// After `init`, used only on `queue`.
    private final class Appender {
        let descriptor: Int32
        let name: String
        /// The offset at which the last whole record ends; `nil` if this is not a regular file.
        var end: off_t?
        var lastSynced = ContinuousClock.now

        init(descriptor: Int32, name: String, end: off_t?) {
            (self.descriptor, self.name, self.end) = (descriptor, name, end)
        }
    }

    /// The bytes to write next, and the callers that wait for the write.
    private struct Waiting {
        var records: [UInt8] = []
        /// The bytes to write to the journal.
        var entries: [UInt8] = []
        var continuations: [CheckedContinuation<Answer, Never>] = []
    }

    private let waiting = Mutex(Waiting())
    private let queue = DispatchQueue(label: "fireweed.fetch.results")
    // SAFETY: both are `let`s; after `init`, the state of the appenders is used only on `queue`.
    private nonisolated(unsafe) let records: Appender
    private nonisolated(unsafe) let journal: Appender?
    /// The items that earlier runs have finished.
    let finished: FetchJournal
    /// Whether the file of records, or the journal, was there before this run.
    let continuesRun: Bool
    /// Whether standard output gets only the records of failures.
    private let omitsSuccesses: Bool

    /// Opens the files; throws `OutputError`.
    init(_ invocation: Invocation) throws {
        let path = invocation.writesToStandardOutput ? nil : invocation.outputFile
        var finished = FetchJournal()
        continuesRun = (path ?? invocation.journalFile).map { access($0, F_OK) == 0 } ?? false
        if let path {
            records = try Self.open(path, continues: invocation.goesOn, &finished)
            journal = nil
        } else {
            records = Appender(descriptor: STDOUT_FILENO, name: "standard output", end: nil)
            journal = try invocation.journalFile.map {
                try Self.open($0, continues: invocation.goesOn, &finished)
            }
        }
        self.finished = finished
        omitsSuccesses = invocation.isQuiet && path == nil
    }

    private static func open(_ path: String, continues: Bool, _ finished: inout FetchJournal) throws -> Appender {
        let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw error(path, String(cString: strerror(errno))) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            return Appender(descriptor: descriptor, name: path, end: nil)
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw error(path, "another run is writing to it")
        }
        guard status.st_size > 0 else { return Appender(descriptor: descriptor, name: path, end: 0) }
        finished = try FetchJournal(readingFrom: descriptor, named: path)
        guard continues else {
            throw error(path, "it has records already; --continue continues with them, or remove the file")
        }
        guard ftruncate(descriptor, finished.end) == 0 else { throw error(path, String(cString: strerror(errno))) }
        return Appender(descriptor: descriptor, name: path, end: finished.end)
    }

    private static func error(_ path: String, _ reason: String) -> OutputError {
        OutputError(errorDescription: "\(path) cannot be written: \(reason)")
    }

    /// Writes a record, given with its line end, and notes its item in the journal, if any.
    ///
    /// Records that arrive during a write are written together afterwards. With `omitsSuccesses`, only the record of a
    /// failure is written. A failed item is not noted in the journal: the next run requests it again.
    func write(_ record: [UInt8], index: Int, key: UInt64, isFailure: Bool = false) async -> Answer {
        await withCheckedContinuation { continuation in
            let entry = journal == nil || isFailure ? "" : "\(FetchJournal.head(index: index, key: key))}\n"
            let isFirst = waiting.withLock { waiting in
                if isFailure || !omitsSuccesses { waiting.records += record }
                waiting.entries += Array(entry.utf8)
                waiting.continuations.append(continuation)
                return waiting.continuations.count == 1
            }
            if isFirst { queue.async { self.writeWaiting() } }
        }
    }

    private func writeWaiting() {
        let all = waiting.withLock { waiting in
            defer { waiting = Waiting() }
            return waiting
        }
        var answer = append(all.records, to: records)
        if case .written = answer, let journal { answer = append(all.entries, to: journal) }
        for continuation in all.continuations { continuation.resume(returning: answer) }
    }

    /// Flushes the files to the disk; returns the error text of the first failure, or `nil` on success.
    func finish() -> String? {
        queue.sync {
            [records, journal].compactMap { appender -> String? in
                guard let appender, appender.end != nil, fdatasync(appender.descriptor) != 0 else { return nil }
                return "\(appender.name) cannot be written: \(String(cString: strerror(errno)))"
            }.first
        }
    }

    private func append(_ bytes: [UInt8], to appender: Appender) -> Answer {
        var offset = 0
        while offset < bytes.count {
            let count = bytes[offset...].withUnsafeBytes { Glibc.write(appender.descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                offset += count
            } else if errno != EINTR {
                let reason = errno
                // Removes a partly written record, which readers of the file could not parse.
                if let end = appender.end { ftruncate(appender.descriptor, end) }
                if reason == EPIPE { return .readerGone }
                return .failure("\(appender.name) cannot be written: \(String(cString: strerror(reason)))")
            }
        }
        guard let end = appender.end else { return .written }
        appender.end = end + off_t(bytes.count)
        // If the process is killed, the kernel keeps the written bytes. A sync once a second limits the loss after a
        // power cut.
        if ContinuousClock.now - appender.lastSynced > .seconds(1) {
            fdatasync(appender.descriptor)
            appender.lastSynced = .now
        }
        return .written
    }
}
