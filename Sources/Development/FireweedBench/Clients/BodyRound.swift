// A gibibyte of content.

import CBareLoop
import Fireweed
import FixtureServer
import Foundation

/// Receives one large body, as a stream or into a file.
struct BodyRound {
    let client: Client

    func run(_ url: URL) async throws {
        switch client {
        case .libcurlFile: try bare(url)
        case .fireweedFile: try await file(url)
        default: try await stream(url)
        }
    }

    private func bare(_ url: URL) throws {
        let folder = try TemporaryFolder()
        let descriptor = open(folder.file("body").path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        guard fw_bare_loop(url.absoluteString, 1, 1, 1, descriptor) == 0 else {
            throw RoundError(text: "libcurl failed")
        }
    }

    private func file(_ url: URL) async throws {
        let session = Session()
        let file = try await session.download(url).serializingDownloadedFileURL().value
        try FileManager.default.removeItem(at: file.deletingLastPathComponent())
    }

    private func stream(_ url: URL) async throws {
        let session = Session()
        var count = 0
        for await stream in session.streamRequest(url).streamTask().streamingData() {
            count += stream.value?.count ?? 0
        }
        guard count == 1 << 30 else { throw RoundError(text: "the stream ended after \(count) bytes") }
    }
}
