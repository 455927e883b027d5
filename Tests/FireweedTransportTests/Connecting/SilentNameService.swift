import FixtureServer
import Glibc
import Synchronization

@testable import FireweedTransport

/// A name service whose answers the test releases.
///
/// It counts the threads that wait for an answer.
final class SilentNameService: Sendable {
    let asked = EventLog<String>()
    private let counts = Mutex((now: 0, largest: 0))
    private let gate: (reading: Int32, writing: Int32)

    init() {
        var ends: [Int32] = [0, 0]
        precondition(pipe(&ends) == 0)
        gate = (ends[0], ends[1])
    }

    deinit { close(gate.reading) }

    /// The most threads that waited at a time.
    var largestCount: Int { counts.withLock { $0.largest } }

    /// Lets every look-up end without an address, later ones too; to be called once.
    func answer() { close(gate.writing) }

    /// Blocks its thread until `answer()`.
    @Sendable
    func lookUp(_ name: String) -> NameResolver.Answer {
        counts.withLock { $0 = ($0.now + 1, max($0.largest, $0.now + 1)) }
        asked.note(name)
        var byte: UInt8 = 0
        while read(gate.reading, &byte, 1) < 0 {}
        counts.withLock { $0.now -= 1 }
        return .failed(LookupFailure(isExhaustion: false, text: "no address"))
    }
}
