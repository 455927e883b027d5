// This process's memory, from /proc.

import Foundation

/// Memory of this process; other tests run in it too, so that only a large bound means something.
enum ResidentMemory {
    /// Resident memory at this moment, in KiB; 0 under a sanitizer, whose own memory is several times the program's.
    static var kibibytes: Int {
        #if SANITIZE_THREAD || SANITIZE_ADDRESS
        return 0
        #else
        return measured
        #endif
    }

    private static var measured: Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
    }
}
