// Finds calls that may wait among those of some threads.

/// Judges calls by their kind, however fast they were.
enum LoopJudge {
    /// What strace is to write down.
    static let traced =
        (["%file", "prctl", "socket", "connect"] + onDescriptors.sorted() + onFiles.sorted() + waits.sorted()
        + sleeps.sorted()).joined(separator: ",")

    /// Calls that may wait where their descriptor is a file's.
    private static let onDescriptors: Set = [
        "read", "pread64", "readv", "preadv", "write", "pwrite64", "writev", "pwritev", "sendfile", "splice", "fcntl",
    ]
    /// Calls that are made on files alone.
    private static let onFiles: Set = [
        "fstat", "fsync", "fdatasync", "sync_file_range", "fallocate", "flock", "ftruncate", "getdents64",
        "copy_file_range",
    ]
    /// Calls that wait unless their last argument is 0.
    private static let waits: Set = ["poll"]
    private static let sleeps: Set = [
        "ppoll", "select", "pselect6", "nanosleep", "clock_nanosleep", "wait4", "waitid",
    ]

    /// The calls of the threads that may wait: those that name or use files, and those that sleep or connect.
    static func waitingCalls(of trace: SystemCallTrace, on threads: Set<String>) -> [SystemCall] {
        var waitingSockets: Set<String> = []
        return trace.calls.filter { call in
            switch call.name {
            case "socket":
                let waits = !call.arguments.contains("SOCK_NONBLOCK")
                let descriptor = String(call.result.prefix { $0.isNumber })
                if waits { waitingSockets.insert(descriptor) } else { waitingSockets.remove(descriptor) }
                return false
            case _ where !threads.contains(call.thread): return false
            case "prctl": return false
            case "connect": return waitingSockets.contains(String(call.arguments.prefix { $0.isNumber }))
            case _ where onDescriptors.contains(call.name): return call.path != nil
            case _ where waits.contains(call.name): return !call.arguments.hasSuffix(", 0")
            default: return true
            }
        }
    }
}
