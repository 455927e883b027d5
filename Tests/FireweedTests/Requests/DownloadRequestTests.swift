import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("Downloads", .timeLimit(.minutes(1)))
struct DownloadRequestTests {
    let server: FixtureServer
    let session = Session.isolated()
    let folder: TemporaryFolder

    init() throws {
        server = try FixtureServer.start()
        folder = try TemporaryFolder()
    }

    @Test("content goes to the destination, making folders on the way")
    func toDestination() async throws {
        let target = folder.file("a/b/file.bin")
        let request = session.download(
            server.url("/bytes/3000000"), to: { _, _ in (target, .createIntermediateDirectories) })
        let file = try await request.validate().serializingDownloadedFileURL().value
        #expect(file == target)
        #expect(try Data(contentsOf: target).count == 3_000_000)
        #expect(request.downloadProgress.fractionCompleted == 1)
    }

    @Test("a file in the way is an error, and is left alone, unless it is to be removed")
    func fileInTheWay() async throws {
        let target = folder.file("file.bin")
        try Data("mine".utf8).write(to: target)
        let refused = await session.download(server.url("/bytes/10"), to: { _, _ in (target, []) })
            .serializingDownloadedFileURL()
            .response
        #expect(refused.error?.isDownloadedFileMoveError == true)
        #expect(try Data(contentsOf: target) == Data("mine".utf8))
        let replaced = session.download(server.url("/bytes/10"), to: { _, _ in (target, .removePreviousFile) })
        #expect(try await replaced.serializingData().value.count == 10)
        #expect(try Data(contentsOf: target).count == 10)
    }

    @Test("without a destination the file is in a temporary place")
    func temporary() async throws {
        let file = try await session.download(server.url("/bytes/1000")).serializingDownloadedFileURL().value
        #expect(try Data(contentsOf: file).count == 1000)
        try FileManager.default.removeItem(at: file.deletingLastPathComponent())
    }

    @Test("a failed download leaves no file")
    func failureLeavesNothing() async throws {
        let target = folder.file("file.bin")
        let request = session.download(server.url("/status/404"), to: { _, _ in (target, []) }).validate()
        #expect(await request.serializingDownloadedFileURL().response.error?.responseCode == 404)
    }

    @Test("downloads decode too")
    func decodable() async throws {
        let value = try await session.download(server.url("/anything")).serializingDecodable(Anything.self).value
        #expect(value.method == "GET")
    }
}
