// Which process something belongs to, also after the process has ended.

import Foundation
import Glibc

/// A process of this machine: its number alone would be used again.
struct ProcessIdentity: Equatable, Sendable {
    /// The kernel's number for this start of the machine (random(4)).
    private let boot: String
    /// The namespace in which the process number counts: containers may share a temporary folder.
    private let namespace: String
    private let number: Int32
    /// When the process started, in the kernel's ticks (proc_pid_stat(5), field 22).
    private let start: String

    /// This process.
    static let current = ProcessIdentity(
        boot: presentBoot, namespace: presentNamespace, number: getpid(), start: start(of: getpid()) ?? "")

    init(boot: String, namespace: String, number: Int32, start: String) {
        self.boot = boot
        self.namespace = namespace
        self.number = number
        self.start = start
    }

    /// Reads what `text` wrote.
    init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 4, let number = Int32(parts[2]) else { return nil }
        self.init(boot: parts[0], namespace: parts[1], number: number, start: parts[3])
    }

    var text: String { "\(boot)/\(namespace)/\(number)/\(start)" }

    /// Whether the process is known to have ended; false for a process that this one cannot see.
    var hasEnded: Bool {
        guard !boot.isEmpty, !start.isEmpty, !Self.presentBoot.isEmpty else { return false }
        guard boot == Self.presentBoot else { return true }
        guard namespace == Self.presentNamespace, !namespace.isEmpty else { return false }
        if let found = Self.start(of: number) { return found != start }
        return kill(number, 0) != 0 && errno == ESRCH
    }

    private static let presentBoot =
        (try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8))?
        .trimmingCharacters(in: .whitespacesAndNewlines) ?? ""

    private static let presentNamespace =
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/ns/pid")) ?? ""

    /// The name of a program, the second field, may hold spaces and parentheses: fields are counted from the last
    /// parenthesis.
    private static func start(of number: Int32) -> String? {
        guard let text = try? String(contentsOfFile: "/proc/\(number)/stat", encoding: .utf8),
            let end = text.lastIndex(of: ")")
        else { return nil }
        let fields = text[end...].dropFirst(2).split(separator: " ")
        return fields.count > 19 ? String(fields[19]) : nil
    }
}
