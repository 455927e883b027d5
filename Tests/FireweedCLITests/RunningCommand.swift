// The built command, watched while it runs.

import FixtureServer
import Foundation
import Glibc

/// A run of the command whose streams are read and written while it runs.
///
/// A thread of its own reads: tests must not wait on the threads that tasks run on.
final class RunningCommand {
    let process = Process()
    private let input = Pipe.closedOnExec()
    private var pieces: AsyncStream<Data>.Iterator
    private var held = Data()

    static var program: URL { Bundle.main.bundleURL.appendingPathComponent("fireweed") }

    /// Runs the command.
    ///
    /// With `onTerminal`, the command has a terminal of its own, where input and output are one stream; `next` is a
    /// command of the shell that runs on the same terminal afterwards. With `hasInput`, standard input is a pipe, for
    /// `type`; otherwise it is empty.
    init(
        _ arguments: [String], in folder: URL = FileManager.default.temporaryDirectory, onTerminal: Bool = false,
        then next: String? = nil, hasInput: Bool = true, environment: [String: String] = [:]
    ) throws {
        let output = Pipe.closedOnExec()
        if onTerminal {
            let quoted = ([Self.program.path] + arguments).map { "'\($0)'" }.joined(separator: " ")
            process.executableURL = URL(fileURLWithPath: "/usr/bin/script")
            process.arguments = ["-qec", next.map { "\(quoted); \($0)" } ?? quoted, "/dev/null"]
        } else {
            process.executableURL = Self.program
            process.arguments = arguments
        }
        process.currentDirectoryURL = folder
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = hasInput ? input : FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = output
        let (stream, continuation) = AsyncStream<Data>.makeStream()
        pieces = stream.makeAsyncIterator()
        try process.start()
        let reader = output.fileHandleForReading
        Thread {
            while case let data = reader.nextContent(), !data.isEmpty { continuation.yield(data) }
            continuation.finish()
        }.start()
    }

    func type(_ text: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
    }

    func endInput() throws {
        try input.fileHandleForWriting.close()
    }

    /// Reads until a text has come; everything that came so far.
    func read(until text: String) async -> String {
        while !String(decoding: held, as: UTF8.self).contains(text), let more = await pieces.next() { held += more }
        return String(decoding: held, as: UTF8.self)
    }

    /// Reads exactly so many bytes, however long they take, and takes them out of what has come.
    func read(_ count: Int) async -> String {
        while held.count < count, let more = await pieces.next() { held += more }
        defer { held = Data(held.dropFirst(count)) }
        return String(decoding: held.prefix(count), as: UTF8.self)
    }

    /// The number of the command's process, which the shell of `onTerminal` has started.
    var commandIdentifier: pid_t? {
        func children(of parent: pid_t) -> [pid_t] {
            let text = try? String(contentsOfFile: "/proc/\(parent)/task/\(parent)/children", encoding: .utf8)
            return (text ?? "").split(separator: " ").compactMap { pid_t($0) }
        }
        return children(of: process.processIdentifier).flatMap(children).first
    }

    /// Everything that came, up to the end, and how the command ended.
    func rest() async -> (output: String, code: Int32) {
        while let more = await pieces.next() { held += more }
        process.waitUntilExit()  // it has closed its output: this is a moment
        return (String(decoding: held, as: UTF8.self), process.exitCode)
    }
}
