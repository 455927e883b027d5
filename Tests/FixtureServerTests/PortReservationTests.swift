import FixtureServer
import Glibc
import Testing

@Suite("Port reservations")
struct PortReservationTests {
    /// Whether a connection is accepted.
    private func accepts(_ port: UInt16) -> Bool {
        perform(port) { connect($0, $1, $2) }
    }

    /// Whether a socket without `SO_REUSEADDR` can have the port.
    private func isFree(_ port: UInt16) -> Bool {
        perform(port) { bind($0, $1, $2) }
    }

    private func perform(_ port: UInt16, _ call: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafeBytes(of: &address) { bytes in
            guard let pointer = bytes.bindMemory(to: sockaddr.self).baseAddress else { return false }
            return call(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
    }

    @Test("a reserved port refuses, is nobody else's, and is there for the server that is told it")
    func reserves() throws {
        let (first, second) = (try PortReservation(), try PortReservation())
        #expect(first.number != second.number)
        for _ in 0..<2 {
            #expect(!accepts(first.number))
            #expect(!isFree(first.number))
            let server = try ScriptedServer.start(port: first.number, [[.hold]])
            #expect(accepts(first.number))
            server.stop()
            // The thread that accepts closes the listener after its last connection.
            while accepts(first.number) { sched_yield() }
        }
        #expect(!accepts(second.number))
    }
}
