import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("Downloads", .timeLimit(.minutes(TestTimeouts.minutes)))
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

    @Test("a pipe in the way, as a device, is written to and stays; without a reader it is an error")
    func pipeInTheWay() async throws {
        let target = folder.file("pipe")
        #expect(mkfifo(target.path, 0o600) == 0)
        let (lengths, length) = AsyncStream<Int>.makeStream()
        Thread {
            length.yield((try? FileHandle(forReadingFrom: target))?.contentToEnd().count ?? -1)
        }.start()
        // Opening a pipe waits for the other side: ours does not, and tries again until the reader is there.
        var response = await download(to: target)
        while response.error?.isDownloadedFileMoveError == true { response = await download(to: target) }
        #expect(response.error == nil)
        for await count in lengths {
            #expect(count == 300_000)
            break
        }
        #expect(await download(to: target).error?.isDownloadedFileMoveError == true)
        let type = try FileManager.default.attributesOfItem(atPath: target.path)[.type] as? FileAttributeType
        #expect(type != .typeRegular)
    }

    private func download(to target: URL) async -> DownloadResponse<URL, AFError> {
        await session.download(server.url("/bytes/300000"), to: { _, _ in (target, .removePreviousFile) })
            .serializingDownloadedFileURL().response
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

    @Test("a destination without its folder is an error that says where the file is")
    func missingFolder() async throws {
        let target = folder.file("none/file.bin")
        let response = await session.download(server.url("/bytes/1000"), to: { _, _ in (target, []) })
            .serializingDownloadedFileURL().response
        let error = try #require(response.error)
        #expect(error.isDownloadedFileMoveError && error.destinationURL == target)
        #expect(error.errorDescription?.contains("its folder does not exist") == true)
        #expect((error.underlyingError as? CocoaError)?.code == .fileNoSuchFile)
        let source = try #require(error.sourceURL)
        #expect(try Data(contentsOf: source).count == 1000, "what came is not lost")
        try FileManager.default.removeItem(at: source.deletingLastPathComponent())
    }

    @Test("a destination on another file system gets the file whole", arguments: [false, true])
    func otherFileSystem(isReplacing: Bool) async throws {
        let shared = URL(fileURLWithPath: "/dev/shm/fireweed-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: shared, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: shared) }
        let target = shared.appendingPathComponent("file")
        try Data("mine".utf8).write(to: target)
        let request = session.download(
            server.url("/bytes/100000"), to: { _, _ in (target, isReplacing ? .removePreviousFile : []) })
        let response = await request.serializingDownloadedFileURL().response
        #expect(response.error?.isDownloadedFileMoveError == (isReplacing ? nil : true))
        #expect(try Data(contentsOf: target).count == (isReplacing ? 100_000 : 4))
        #expect(try FileManager.default.contentsOfDirectory(atPath: shared.path) == ["file"])
        if let source = response.error?.sourceURL {
            try FileManager.default.removeItem(at: source.deletingLastPathComponent())
        }
    }

    @Test("a retry takes back what a failed attempt has put at the destination")
    func retryTakesBack() async throws {
        let count = ProtectedList<Int>()
        server.route("/flaky") { _ in
            count.append(1)
            let isFirst = count.all.count == 1
            return FixtureResponse.text(isFirst ? "busy" : "done", status: isFirst ? 503 : 200)
        }
        let target = folder.file("file.txt")
        let request = session.download(
            server.url("/flaky"), interceptor: RetryPolicy(exponentialBackoffScale: 0.001), to: { _, _ in (target, []) }
        )
        #expect(try await request.validate().serializingString().value == "done")
        #expect(try String(contentsOf: target, encoding: .utf8) == "done")
    }

    @Test(
        "a temporary file stays when a handler gets the file, and is removed with its responses when it gets the content",
        arguments: [false, true], [false, true])
    func temporaryFile(isFileHandler: Bool, readsURL: Bool) async throws {
        // A monitor and a validator see the URL, which does not keep the file.
        let session = Session.isolated(eventMonitors: [RecordingMonitor()])
        let places = ProtectedList<URL>()
        do {
            let request = session.download(server.url("/json")).validate().validate { _, _, file in
                if let file { places.append(file) }
                return .success(())
            }
            if isFileHandler {
                let response = await request.serializingDownloadedFileURL().response
                #expect(response.error == nil)
                if readsURL { #expect(response.fileURL == places.all.first) }
            } else {
                let response = await request.serializingString().response
                #expect(response.value?.isEmpty == false)
                let place = try #require(places.all.first)
                #expect(FileManager.default.fileExists(atPath: place.path))
                if readsURL { #expect(response.fileURL == place && request.fileURL == place) }
            }
        }
        let folder = try #require(places.all.first).deletingLastPathComponent()
        if isFileHandler {
            #expect(FileManager.default.fileExists(atPath: folder.path))
            try FileManager.default.removeItem(at: folder)
        } else {
            #expect(try await becomes { !FileManager.default.fileExists(atPath: folder.path) })
        }
    }

    @Test("a response without content gives an empty file", arguments: ["/status/204", "/bytes/0"])
    func emptyFile(path: String) async throws {
        let file = try await session.download(server.url(path)).serializingDownloadedFileURL().value
        #expect(try Data(contentsOf: file).isEmpty)
        try FileManager.default.removeItem(at: file.deletingLastPathComponent())
    }

    @Test("big content comes whole through blocks that go round", .timeLimit(.minutes(TestTimeouts.minutes)))
    func bigContent() async throws {
        let request = session.download(server.url("/range/5000001"))
        let data = try await request.serializingData().value
        #expect(data.count == 5_000_001)
        // The alphabet over and over: a piece at a wrong place would break it.
        let isWhole = data.withUnsafeBytes { bytes in
            stride(from: 0, to: bytes.count, by: 997).allSatisfy { bytes[$0] == UInt8(97 + $0 % 26) }
        }
        #expect(isWhole)
    }

    @Test("the suggested destination takes the name from the response, and no folder from it")
    func suggestedDestination() throws {
        let url = try #require(URL(string: "https://h/path/name.txt"))
        let place = DownloadRequest.suggestedDownloadDestination(for: .cachesDirectory, options: .removePreviousFile)
        let temporary = URL(fileURLWithPath: "/tmp/x")
        for (disposition, expected) in [
            (nil, "name.txt"), ("attachment; filename=\"other.bin\"", "other.bin"),
            ("attachment; filename=\".hidden\"", "hidden"), ("attachment; filename=\"../../etc/passwd\"", "passwd"),
            ("attachment; filename=\"..\"", "name.txt"),
        ] as [(String?, String?)] {
            let fields = disposition.map { ["Content-Disposition": $0] } ?? [:]
            let response = try #require(
                HTTPURLResponse(url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: fields))
            let (target, options) = place(temporary, response)
            #expect(options == .removePreviousFile)
            let caches = FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask)[0]
            #expect(target == expected.map { caches.appendingPathComponent($0) } ?? temporary)
        }
    }
}
