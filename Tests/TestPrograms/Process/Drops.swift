// The effects of sessions that are dropped in mid-download.

import Fireweed
import Foundation

/// Drops sessions while content flows, and prints, as one line of JSON, what the process had before and after.
struct Drops {
    let url: String

    func run() async throws {
        for _ in 0..<30 { await drop() }
        let first = try await settled()
        for _ in 0..<120 { await drop() }
        print(String(decoding: try JSONEncoder().encode([first, try await settled()]), as: UTF8.self))
    }

    /// Makes a session, and lets it go as soon as content has come.
    private func drop() async {
        let (progress, next) = AsyncStream<Void>.makeStream()
        let (ends, end) = AsyncStream<Void>.makeStream()
        do {
            let session = Session(configuration: .af.ephemeral)
            for _ in 0..<4 {
                session.download(url).downloadProgress(queue: .global()) { _ in next.yield() }
                    .response(queue: .global()) { _ in end.yield() }
            }
            for await _ in progress { break }
        }
        var count = 0
        for await _ in ends {
            count += 1
            if count == 4 { break }
        }
    }

    /// What the process has when its threads and descriptors have not changed for six seconds.
    ///
    /// Dispatch keeps a thread without work for five: how many there are before tells how much ran at the same time.
    private func settled() async throws -> Growth.Facts {
        var facts = try Growth.Facts.now()
        var unchanged = 0
        while unchanged < 120 {
            // The kernel reports no change of these numbers: this program can only look again.
            try await Task.sleep(for: .milliseconds(50))
            let now = try Growth.Facts.now()
            unchanged = now.descriptors == facts.descriptors && now.threads == facts.threads ? unchanged + 1 : 0
            facts = now
        }
        return facts
    }
}
