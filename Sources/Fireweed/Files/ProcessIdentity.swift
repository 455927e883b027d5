// A process's identity, which stays unique after the process has ended.

import Foundation
import Glibc

/// Identifies a process, even after it has ended, on this machine or another: several machines and containers may share
/// a temporary folder.
///
/// The process number alone is not enough, since the kernel reuses numbers.
struct ProcessIdentity: Equatable, Sendable {
    /// Whether a process that has left files behind still runs.
    enum Status: Sendable {
        case living, ended
        /// The process belongs to another machine or container, or the kernel does not tell.
        case unknown
    }

    /// The machine's ID (machine-id(5)) and its host name: copies of an image have the same ID.
    private let machine: String
    /// The kernel's ID of this boot (random(4)).
    private let boot: String
    /// The namespace of the process number.
    private let namespace: String
    private let number: Int32
    /// When the process started, in the kernel's ticks (proc_pid_stat(5), field 22).
    private let start: String

    /// This process.
    static let current = ProcessIdentity(
        machine: presentMachine, boot: presentBoot, namespace: presentNamespace, number: getpid(),
        start: start(of: getpid()) ?? "")

    private init(machine: String, boot: String, namespace: String, number: Int32, start: String) {
        self.machine = machine
        self.boot = boot
        self.namespace = namespace
        self.number = number
        self.start = start
    }

    /// Reads an identity in the format of `text`; `nil` when the format is wrong.
    init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 5, let number = Int32(parts[3]) else { return nil }
        self.init(machine: parts[0], boot: parts[1], namespace: parts[2], number: number, start: parts[4])
    }

    var text: String { "\(machine)/\(boot)/\(namespace)/\(number)/\(start)" }

    /// Whether the process runs, as far as this process can tell.
    var status: Status {
        guard !machine.isEmpty, machine == Self.presentMachine, !boot.isEmpty, !Self.presentBoot.isEmpty else {
            return .unknown
        }
        guard boot == Self.presentBoot else { return .ended }
        guard !namespace.isEmpty, namespace == Self.presentNamespace, !start.isEmpty else { return .unknown }
        if let found = Self.start(of: number) { return found == start ? .living : .ended }
        return kill(number, 0) != 0 && errno == ESRCH ? .ended : .living
    }

    /// Whether the process is known to have ended.
    var hasEnded: Bool { status == .ended }

    /// `machine` of this process; empty when the machine has no ID.
    private static let presentMachine: String = {
        let number = content(of: "/etc/machine-id")
        return number.isEmpty ? "" : "\(number)@\(content(of: "/proc/sys/kernel/hostname"))"
    }()

    private static let presentBoot = content(of: "/proc/sys/kernel/random/boot_id")

    private static let presentNamespace =
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/ns/pid")) ?? ""

    /// The content of a file with one line; empty when the file cannot be read.
    private static func content(of path: String) -> String {
        (try? String(contentsOfFile: path, encoding: .utf8))?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
    }

    /// The start time of a process; `nil` when there is no such process.
    ///
    /// Fields are counted from the last parenthesis: the second field, the program's name, may contain spaces and
    /// parentheses.
    private static func start(of number: Int32) -> String? {
        guard let text = try? String(contentsOfFile: "/proc/\(number)/stat", encoding: .utf8),
            let end = text.lastIndex(of: ")")
        else { return nil }
        let fields = text[end...].dropFirst(2).split(separator: " ")
        return fields.count > 19 ? String(fields[19]) : nil
    }
}
