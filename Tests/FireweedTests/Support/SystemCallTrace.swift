// The system calls of a program, as strace(1) writes them down.

import Foundation

/// A call of one thread.
struct SystemCall {
    let thread: String
    let name: String
    /// As strace writes them; descriptors have their paths behind them: `3</etc/hosts>`.
    let arguments: String
    /// Empty for a call that did not return.
    let result: String

    /// The file that the call names: a path in quotes, in the folder of the descriptor before it where it is
    /// relative, or the path of the first descriptor where that is a file's.
    var path: String? {
        let descriptor = arguments.prefixMatch(of: #/(?:AT_FDCWD|\d+)<(/[^>]*)>/#)?.output.1
        guard let quoted = arguments.firstMatch(of: #/"([^"]*)"/#)?.output.1, !quoted.isEmpty, !usesDescriptor else {
            return descriptor.map(String.init)
        }
        guard let descriptor, !quoted.hasPrefix("/") else { return String(quoted) }
        return "\(descriptor)/\(quoted)"
    }

    /// Whether bytes in quotes are content, not a path.
    private var usesDescriptor: Bool {
        ["read", "pread64", "readv", "preadv", "write", "pwrite64", "writev", "pwritev", "getdents64"].contains(name)
    }
}

/// The calls of a program and its threads, in the order in which they began.
struct SystemCallTrace {
    let calls: [SystemCall]

    /// Reads a file of `strace -f -y -o`.
    init(_ text: String) {
        var begun: [Substring: (index: Int, text: Substring)] = [:]
        var lines: [(thread: Substring, text: String)] = []
        for line in text.split(separator: "\n") {
            guard let (_, thread, rest) = line.firstMatch(of: #/^(\d+) +(.*)$/#)?.output else { continue }
            if let end = rest.firstRange(of: " <unfinished ...>") {
                begun[thread] = (lines.count, rest[..<end.lowerBound])
                lines.append((thread, String(rest[..<end.lowerBound])))
            } else if rest.hasPrefix("<... "), let end = rest.firstRange(of: " resumed>"), let start = begun[thread] {
                lines[start.index].text = "\(start.text)\(rest[end.upperBound...])"
                begun[thread] = nil
            } else {
                lines.append((thread, String(rest)))
            }
        }
        calls = lines.compactMap { thread, text -> SystemCall? in
            guard let (_, name, rest) = text.firstMatch(of: #/^(\w+)\((.*)$/#)?.output else {
                return nil
            }
            let end = rest.ranges(of: #/\) += /#).last
            return SystemCall(
                thread: String(thread), name: String(name),
                arguments: String(rest[..<(end?.lowerBound ?? rest.endIndex)]),
                result: end.map { String(rest[$0.upperBound...]) } ?? "")
        }
    }

    /// The threads that took a name that begins so.
    func threads(named prefix: String) -> Set<String> {
        Set(calls.filter { $0.name == "prctl" && $0.arguments.hasPrefix("PR_SET_NAME, \"\(prefix)") }.map(\.thread))
    }
}
