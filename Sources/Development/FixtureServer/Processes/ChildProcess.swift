// Programs that run beside the tests.

import CLinux
public import Foundation
import Glibc

/// A child process that is killed when this object is released or this process ends, even by a crash.
public final class ChildProcess: @unchecked Sendable {
    // SAFETY: `process` is used only in `init`. Afterwards only `lifeline` is closed, which any thread may do.
    private let process = Process()

    /// Starts a program, given by an absolute path or by its name in the system's folders.
    ///
    /// The program's standard output goes to `output`; `nil` discards it. When no folder has the program, throws a
    /// `ServerError` that names the Debian package.
    public init(_ program: String, _ arguments: [String], package: String, output: FileHandle? = nil) throws {
        // The shell's input ends when this process ends; the shell then kills the program's whole session. The signal
        // is KILL, since Dispatch's threads block other signals and a child inherits the blocked signals.
        let script = "setsid \"$@\" & cat >/dev/null <&3; kill -KILL -$!"
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments =
            ["-c", "exec 3<&0; \(script)", "sh", try Self.path(of: program, package: package)] + arguments
        // `O_CLOEXEC`: another child that inherited the writing end of the pipe would keep this child alive.
        var ends: [Int32] = [-1, -1]
        guard pipe2(&ends, O_CLOEXEC) == 0 else { throw ServerError(description: "no pipe: errno \(errno)") }
        lifeline = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
        let input = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
        // The child has its own copy of the reading end. Ours is closed now, since `Process` would keep it until some
        // time after the child's end.
        defer { try? input.close() }
        process.standardInput = input
        process.standardOutput = output ?? FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.start()
    }

    /// Closing this handle ends the program.
    private let lifeline: FileHandle

    deinit { try? lifeline.close() }

    /// Ends the program.
    func stop() {
        try? lifeline.close()
    }

    /// Runs a program to its end; when it fails, throws a `ServerError` with its error output.
    static func run(_ program: String, _ arguments: [String], package: String, in folder: URL) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try path(of: program, package: package))
        process.arguments = arguments
        process.currentDirectoryURL = folder
        let errors = Pipe.closedOnExec()
        process.standardError = errors
        process.standardOutput = FileHandle.nullDevice
        try process.start()
        let text = String(decoding: errors.fileHandleForReading.contentToEnd(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw ServerError(description: "\(program) failed: \(text)") }
    }

    private static func path(of program: String, package: String) throws -> String {
        if program.hasPrefix("/") { return program }
        let folders = ["/usr/sbin", "/usr/bin", "/usr/local/bin", "/bin", "/sbin"]
        let found = folders.map { "\($0)/\(program)" }.first(where: FileManager.default.isExecutableFile)
        guard let found else { throw ServerError(description: "\(program) is missing: apt-get install \(package)") }
        return found
    }

    /// Waits until a port of 127.0.0.1 accepts connections.
    static func waitForPort(_ port: UInt16) throws {
        try wait("an answer on port \(port)") { canConnect(port) }
    }

    /// Polls until a condition of another process holds, since no event reports it; throws after `TestTimeouts.limit`.
    static func wait(_ what: String, until isSo: () -> Bool) throws {
        let end = ContinuousClock.now + TestTimeouts.limit
        while !isSo() {
            guard ContinuousClock.now < end else { throw ServerError(description: "there never was \(what)") }
            var moment = pollfd()
            poll(&moment, 0, 5)
        }
    }

    private static func canConnect(_ port: UInt16) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafeBytes(of: &address) { bytes in
            guard let pointer = bytes.bindMemory(to: sockaddr.self).baseAddress else { return false }
            return connect(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
    }
}
