import CBareLoop
import Fireweed
import Foundation
import Glibc

struct Small: Decodable, Sendable { let id: Int; let name: String }
func cpu() -> Double {
    var u = rusage(); getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &u);
    return Double(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + Double(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6
}
let args = CommandLine.arguments
let url = args[1], n = Int(args[2])!, w = Int(args[3])!, kind = args[4]
let session = Session()
@Sendable func one() async throws {
    switch kind {
    case "data": _ = try await session.request(url).serializingData().value
    case "decodable": _ = try await session.request(url).validate().serializingDecodable(Small.self).value
    default:
        await withCheckedContinuation { c in
            session.request(url).validate().responseDecodable(of: Small.self) { r in c.resume() }
        }
    }
}
let c0 = cpu(), t0 = ContinuousClock.now
if kind == "libcurl" {
    print(fw_bare_loop(url, Int32(n), Int32(w), 6, -1))
} else {
    await withTaskGroup(of: Void.self) { g in
        for _ in 0..<w { g.addTask { for _ in 0..<(n / w) { do { try await one() } catch { print(error) } } } }
    }
}
let dt = ContinuousClock.now - t0
let s = Double(dt.components.seconds) + Double(dt.components.attoseconds) / 1e18
print("\(kind) \(Double(n) / s) req/s  \((cpu() - c0) / Double(n) * 1e6) us/req")
