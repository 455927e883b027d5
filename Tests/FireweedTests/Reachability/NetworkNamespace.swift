// A network of the test's own.

import FixtureServer
import Foundation

/// A namespace with one veth link to a second namespace; both go with it.
///
/// Inside, `veth0` is 10.77.0.1/24 with a default route over 10.77.0.2, where the other end answers.
final class NetworkNamespace: Sendable {
    let name: String
    let peer: String

    /// Why namespaces cannot be made here; `nil` when they can.
    static let obstacle: String? = {
        do {
            let namespace = try NetworkNamespace()
            _ = namespace
            return nil
        } catch {
            print("SKIPPED: tests in network namespaces, which are not permitted here: \(error)")
            return "\(error)"
        }
    }()

    init() throws {
        let number = UInt32.random(in: 0...UInt32.max)
        name = "fw\(String(number, radix: 36))a"
        peer = "fw\(String(number, radix: 36))b"
        try Self.ip("netns add \(name)")
        try Self.ip("netns add \(peer)")
        try Self.ip("-n \(name) link add veth0 type veth peer name veth1 netns \(peer)")
        try ip("link set lo up")
        try ip("addr add 10.77.0.1/24 dev veth0")
        try ip("link set veth0 up")
        try Self.ip("-n \(peer) link set lo up")
        try Self.ip("-n \(peer) addr add 10.77.0.2/24 dev veth1")
        try Self.ip("-n \(peer) addr add 198.51.100.7/32 dev lo")
        try Self.ip("-n \(peer) link set veth1 up")
        try ip("route add default via 10.77.0.2")
    }

    deinit {
        try? Self.ip("netns del \(name)")
        try? Self.ip("netns del \(peer)")
    }

    /// When a command ran that changed something, in nanoseconds since 1970; the kernel made the change in between.
    struct Change {
        let start: UInt64
        let end: UInt64
    }

    /// Runs `ip` inside.
    @discardableResult
    func ip(_ arguments: String) throws -> Change {
        let start = Self.now
        try Self.ip("-n \(name) \(arguments)")
        return Change(start: start, end: Self.now)
    }

    static var now: UInt64 { UInt64(Date().timeIntervalSince1970 * 1e9) }

    private static func ip(_ arguments: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/ip")
        process.arguments = arguments.split(separator: " ").map(String.init)
        let errors = Pipe.closedOnExec()
        process.standardError = errors
        process.standardOutput = FileHandle.nullDevice
        try process.start()
        let text = String(decoding: errors.fileHandleForReading.contentToEnd(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw NamespaceFailure(
                description: "ip \(arguments): \(text.trimmingCharacters(in: .whitespacesAndNewlines))")
        }
    }
}

/// Why a namespace could not be made or changed.
struct NamespaceFailure: Error, CustomStringConvertible {
    let description: String
}

/// A program inside a namespace, and the lines that it says; it ends with this object.
final class NamespacedProgram: Sendable {
    private let process: ChildProcess
    let lines = EventLog<String>()

    init(_ arguments: [String], in namespace: String) throws {
        let output = Pipe.closedOnExec()
        process = try ChildProcess(
            "ip", ["netns", "exec", namespace] + arguments, package: "iproute2", output: output.fileHandleForWriting)
        try output.fileHandleForWriting.close()
        let lines = lines
        Thread {
            var rest = Data()
            while true {
                let data = output.fileHandleForReading.nextContent()
                guard !data.isEmpty else { return }
                rest += data
                while let end = rest.firstIndex(of: 0x0A) {
                    lines.note(String(decoding: rest[..<end], as: UTF8.self))
                    rest = Data(rest[(end + 1)...])
                }
            }
        }.start()
    }

    /// A program of Tests/TestPrograms/Network.
    convenience init(network arguments: String..., in namespace: NetworkNamespace) throws {
        try self.init([TestPrograms.url.path, "network"] + arguments, in: namespace.name)
    }

    /// Waits for a line that says `text` behind its time, later than `moment`; gives its time.
    func time(of text: String, after moment: UInt64 = 0) async throws -> UInt64 {
        let line = try await lines.first { line in
            line.hasSuffix(" \(text)") && (UInt64(line.prefix { $0 != " " }) ?? 0) >= moment
        }
        return UInt64(line.prefix { $0 != " " }) ?? 0
    }

    /// What was said, without the times.
    var said: [String] {
        lines.events.map { String($0.drop { $0 != " " }.dropFirst()) }
    }
}
