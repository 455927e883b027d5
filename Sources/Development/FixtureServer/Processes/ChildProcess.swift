// Programs that run beside the tests.

import CLinux
public import Foundation
import Glibc

/// A program that ends with this process, however this process ends.
public final class ChildProcess: @unchecked Sendable {
    // SAFETY: `Process` is started in `init` and only told to stop afterwards, which it allows from any thread.
    private let process = Process()

    /// Starts a program from the system's folders; throws a `ServerError` that names its Debian package when it is
    /// missing.
    ///
    /// Its standard output goes to `output`, or is discarded.
    public init(_ program: String, _ arguments: [String], package: String, output: FileHandle? = nil) throws {
        // The shell waits for the end of its input, which comes with the end of this process, and then kills the
        // program's whole session: with KILL, since threads of Dispatch block the other signals, and a child inherits
        // the blocked signals.
        let script = "setsid \"$@\" & cat >/dev/null <&3; kill -KILL -$!"
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments =
            ["-c", "exec 3<&0; \(script)", "sh", try Self.path(of: program, package: package)] + arguments
        // Closed on exec: no other child may hold the end of the pipe that keeps this child alive.
        var ends: [Int32] = [-1, -1]
        guard pipe2(&ends, O_CLOEXEC) == 0 else { throw ServerError(description: "no pipe: errno \(errno)") }
        lifeline = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
        let input = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
        // The child has its own copy. `Process` keeps this handle until some time after the child has ended.
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

    /// Runs a program to its end; throws with its error output when it fails.
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

    /// Waits until a port of loopback answers.
    static func waitForPort(_ port: UInt16) throws {
        try wait("an answer on port \(port)") { canConnect(port) }
    }

    /// Waits for a condition of another process, which no event reports; throws at the time-out of `TestTimeouts`.
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
