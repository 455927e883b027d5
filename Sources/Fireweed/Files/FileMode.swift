// The mode of new files.

import Foundation

enum FileMode {
    /// The mode that a new file of this process has by default: 0666 without the bits of the umask.
    ///
    /// 0600 where the umask is unknown.
    static var ofNewFiles: UInt32 {
        // umask(2) can read the umask only by changing it for all threads, so it is read from procfs
        // (proc_pid_status(5)).
        let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = status?.split(separator: "\n").first { $0.hasPrefix("Umask:") }
        guard let digits = line?.split(whereSeparator: { $0 == "\t" || $0 == " " }).last,
            let umask = UInt32(digits, radix: 8)
        else { return 0o600 }
        return 0o666 & ~umask
    }
}
