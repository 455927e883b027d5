import FixtureServer
import Foundation
import Testing

@testable import FireweedCLI

@Suite("The progress bar", .timeLimit(.minutes(TestTimeouts.minutes)))
struct ProgressTests {
    @Test(
        "a bar has the share, the size, the rate and the time that is left, within the width",
        arguments: [
            (ProgressBar(completed: 512, total: 1024, elapsed: 1), 60, "50% 512 B of 1.0 KiB  512 B/s  1s left"),
            (ProgressBar(completed: 1024, total: 1024, elapsed: 2), 60, "100% 1.0 KiB of 1.0 KiB  512 B/s"),
            (ProgressBar(completed: 2048, total: nil, elapsed: 2), 60, "2.0 KiB  1.0 KiB/s"),
            (ProgressBar(completed: 1536, total: 2048, elapsed: 1, base: 1024), 60, "512 B/s  1s left"),
            (ProgressBar(completed: 0, total: 0, elapsed: 0), 60, "0 B of 0 B  0 B/s"),
            (ProgressBar(completed: 9, total: 5, elapsed: 1), 60, "100% 9 B of 5 B"),
            (ProgressBar(completed: 1 << 40, total: 1 << 41, elapsed: 1e-9), 80, "GiB"),
        ])
    func text(bar: ProgressBar, width: Int, expected: String) {
        let text = bar.text(width: width)
        #expect(text.contains(expected), "\(text)")
        for width in [0, 1, 5, 20, width] { #expect(bar.text(width: width).count <= width) }
    }

    @Test("a terminal gets a bar, and a pipe does not")
    func terminal() async throws {
        let (server, folder) = (try FixtureServer.start(), try TemporaryFolder())
        let url = server.url("/bytes/3000000").absoluteString
        let shown = try RunningCommand(
            ["-d", url], in: folder.url, onTerminal: true, environment: ["TERM": "xterm"])
        let (output, code) = await shown.rest()
        #expect(code == 0 && output.contains("100% 2.9 MiB of 2.9 MiB"), "\(output)")
        let dumb = try RunningCommand(["-d", url], in: folder.url, onTerminal: true, environment: ["TERM": "dumb"])
        #expect(await !dumb.rest().output.contains("%"))
        #expect(try !Command.run(["-d", url], in: folder.url).errors.contains("%"))
    }

    @Test("a transfer without a length is drawn ten times a second at most")
    func drawings() async throws {
        let (server, folder) = (try FixtureServer.start(), try TemporaryFolder())
        let start = ContinuousClock.now
        let running = try RunningCommand(
            ["-d", server.url("/stream-bytes/50000000").absoluteString], in: folder.url, onTerminal: true,
            environment: ["TERM": "xterm"])
        let (output, code) = await running.rest()
        let tenths = Int((ContinuousClock.now - start) / .milliseconds(100))
        let count = output.components(separatedBy: "\r\u{1B}[K").count - 1
        #expect(code == 0 && (1...tenths + 2).contains(count), "\(count) in \(tenths) tenths of a second")
    }
}
