// The memory of a process that makes many requests.

import Fireweed
import Foundation

/// Makes requests and prints, as one line of JSON, descriptors, threads and memory after the first and after the last
/// of them.
struct Growth {
    let session: Session
    let url: String

    /// Threads, open descriptors and resident memory of this process, from `/proc/self`.
    struct Facts: Codable {
        var threads: Int
        var descriptors: Int
        var residentKibibytes: Int

        static func now() throws -> Facts {
            let files = FileManager.default
            let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
            let resident = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
            return Facts(
                threads: try files.contentsOfDirectory(atPath: "/proc/self/task").count,
                descriptors: try files.contentsOfDirectory(atPath: "/proc/self/fd").count,
                residentKibibytes: resident.flatMap { Int($0.filter(\.isNumber)) } ?? 0)
        }
    }

    func run() async throws {
        try await requests(1_024)
        let first = try Facts.now()
        try await requests(8_960)
        let last = try Facts.now()
        print(String(decoding: try JSONEncoder().encode([first, last]), as: UTF8.self))
    }

    private func requests(_ count: Int) async throws {
        let (session, url) = (session, url)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<64 {
                group.addTask {
                    for _ in 0..<(count / 64) { _ = try await session.request(url).serializingData().value }
                }
            }
            try await group.waitForAll()
        }
    }
}
