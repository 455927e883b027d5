import Fireweed
import FixtureServer
import Foundation
import Glibc
import Testing

@Suite("Destinations of downloads", .timeLimit(.minutes(TestTimeouts.minutes)))
struct DownloadDestinationTests {
    let server: FixtureServer
    let session = Session.isolated()
    let folder: TemporaryFolder

    init() throws {
        server = try FixtureServer.start()
        folder = try TemporaryFolder()
    }

    private func download(
        _ path: String = "/bytes/10", to target: URL, _ options: DownloadRequest.Options = .removePreviousFile
    ) async -> DownloadResponse<URL, AFError> {
        await session.download(server.url(path), to: { _, _ in (target, options) })
            .serializingDownloadedFileURL().response
    }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted()
    }

    private func status(_ file: URL) -> stat {
        var status = stat()
        #expect(lstat(file.path, &status) == 0)
        return status
    }

    private func discard(_ error: AFError?) {
        if let source = error?.sourceURL { try? FileManager.default.removeItem(at: source.deletingLastPathComponent()) }
    }

    @Test("the URL of something else than a file is no destination, even where its path is one of this machine")
    func remoteDestination() async throws {
        let target = try #require(URL(string: "https://h.example\(folder.file("a").path)"))
        let error = await download(to: target).error
        #expect(error?.isDownloadedFileMoveError == true)
        #expect(error?.errorDescription?.contains("its URL has not the scheme file") == true)
        #expect(try names().isEmpty)
        discard(error)
    }

    @Test("a folder at the destination is an error, and stays with everything in it", arguments: [false, true])
    func folderAtDestination(isLink: Bool) async throws {
        let target = folder.file("folder")
        try FileManager.default.createDirectory(at: target, withIntermediateDirectories: true)
        try Data("mine".utf8).write(to: target.appendingPathComponent("file"))
        let link = folder.file("link")
        try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: "folder")
        let error = await download(to: isLink ? link : target).error
        #expect(error?.isDownloadedFileMoveError == true)
        #expect(error?.errorDescription?.contains("a folder is there") == true)
        #expect((error?.underlyingError as? CocoaError)?.code == .fileWriteFileExists)
        #expect(try Data(contentsOf: target.appendingPathComponent("file")) == Data("mine".utf8))
        #expect(try names() == ["folder", "link"])
        discard(error)
    }

    @Test("a download that is cancelled while its destination is asked for leaves the destination as it is")
    func cancelledInDestination() async throws {
        let target = folder.file("target")
        try Data("mine".utf8).write(to: target)
        let requests = ProtectedList<DownloadRequest>()
        let destination: DownloadRequest.Destination = { _, _ in
            requests.all.first?.cancel()
            return (target, .removePreviousFile)
        }
        let request = session.download(
            server.url("/bytes/10"), shouldAutomaticallyResume: false, to: destination)
        requests.append(request)
        let task = request.serializingDownloadedFileURL()
        request.resume()
        let response = await task.response
        #expect(response.error?.isExplicitlyCancelledError == true)
        #expect(try Data(contentsOf: target) == Data("mine".utf8))
        #expect(try names() == ["target"])
    }

    @Test("a socket at the destination is an error, and stays")
    func socketAtDestination() async throws {
        let target = folder.file("socket")
        #expect(mknod(target.path, S_IFSOCK | 0o600, 0) == 0)
        let error = await download(to: target).error
        #expect(error?.isDownloadedFileMoveError == true)
        #expect(error?.errorDescription?.contains("a socket is there") == true)
        #expect(status(target).st_mode & S_IFMT == S_IFSOCK)
        discard(error)
    }

    @Test(
        "a device at the destination is written to, and stays", .enabled(if: geteuid() == 0), arguments: [false, true])
    func deviceAtDestination(isLink: Bool) async throws {
        let device = folder.file("null")
        #expect(mknod(device.path, S_IFCHR | 0o600, 0x103) == 0)
        let link = folder.file("link")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: device)
        #expect(await download(to: isLink ? link : device).error == nil)
        #expect(status(device).st_mode & S_IFMT == S_IFCHR)
        #expect(status(link).st_mode & S_IFMT == S_IFLNK)
    }

    @Test("the descriptor behind a link of procfs is written to, and the link stays")
    func descriptorAtDestination() async throws {
        let file = folder.file("output")
        try Data("before ".utf8).write(to: file)
        let handle = try FileHandle(forUpdating: file)
        let link = folder.file("link")
        try FileManager.default.createSymbolicLink(
            atPath: link.path, withDestinationPath: "/proc/self/fd/\(handle.fileDescriptor)")
        let before = status(file).st_ino
        server.route("/hi") { _ in FixtureResponse.text("Hi") }
        #expect(await download("/hi", to: link).error == nil)
        #expect(try Data(contentsOf: file) == Data("before Hi".utf8))
        #expect(status(file).st_ino == before)
        #expect(status(link).st_mode & S_IFMT == S_IFLNK)
        try handle.close()
    }

    @Test("a symbolic link is followed and stays, whether its file is there or not", arguments: [false, true])
    func link(isDangling: Bool) async throws {
        let file = folder.file("file")
        if !isDangling { try Data("old".utf8).write(to: file) }
        try FileManager.default.createSymbolicLink(atPath: folder.file("second").path, withDestinationPath: "file")
        try FileManager.default.createSymbolicLink(
            at: folder.file("first"), withDestinationURL: folder.file("second"))
        let response = await download(to: folder.file("first"))
        #expect(response.error == nil && response.fileURL == folder.file("first"))
        #expect(try Data(contentsOf: file).count == 10)
        #expect(status(file).st_mode & S_IFMT == S_IFREG)
        for name in ["first", "second"] { #expect(status(folder.file(name)).st_mode & S_IFMT == S_IFLNK) }
        // Without the option to replace, the link itself is in the way.
        let refused = await download(to: folder.file("first"), [])
        #expect(refused.error?.isDownloadedFileMoveError == true)
        discard(refused.error)
    }

    @Test("a replaced file keeps its mode and its owner", arguments: [0o600, 0o444, 0o6755])
    func attributes(mode: Int) async throws {
        let target = folder.file("file")
        try Data("old".utf8).write(to: target)
        if geteuid() == 0 { #expect(chown(target.path, 1234, 2345) == 0) }
        #expect(chmod(target.path, mode_t(mode)) == 0)
        let before = status(target)
        #expect(await download(to: target).error == nil)
        let after = status(target)
        #expect(after.st_size == 10 && after.st_ino != before.st_ino)
        #expect((after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid))
    }

    @Test("a retry takes back the file, and not the link that leads to it")
    func retryThroughLink() async throws {
        let count = ProtectedList<Int>()
        server.route("/flaky") { _ in
            count.append(1)
            let isFirst = count.all.count == 1
            return FixtureResponse.text(isFirst ? "busy" : "done", status: isFirst ? 503 : 200)
        }
        let link = folder.file("link")
        try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: "file")
        let value = try await session.download(
            server.url("/flaky"), interceptor: RetryPolicy(exponentialBackoffScale: 0.001),
            to: { _, _ in (link, .removePreviousFile) }
        ).validate().serializingString().value
        #expect(value == "done")
        #expect(status(link).st_mode & S_IFMT == S_IFLNK)
        #expect(try String(contentsOf: folder.file("file"), encoding: .utf8) == "done")
    }

    // MARK: Refused answers

    @Test("with the option, a refused answer leaves the destination as it was, and a valid one replaces it")
    func waitForValidation() async throws {
        let target = folder.file("file")
        try Data("good".utf8).write(to: target)
        let places = ProtectedList<URL?>()
        func get(_ path: String) async -> DownloadResponse<Data, AFError> {
            await session.download(
                server.url(path), to: { _, _ in (target, [.removePreviousFile, .waitForValidation]) }
            ).validate { _, _, file in
                places.append(file)
                return .success(())
            }.validate().serializingData().response
        }
        for path in ["/status/404", "/status/503"] {
            #expect(await get(path).error?.isResponseValidationError == true)
            #expect(try Data(contentsOf: target) == Data("good".utf8))
        }
        let valid = await get("/bytes/20")
        #expect(valid.value?.count == 20 && valid.fileURL == target)
        #expect(try Data(contentsOf: target).count == 20)
        #expect(places.all.allSatisfy { $0 != nil && $0 != target })
        #expect(try names() == ["file"])
    }

    @Test("without the option, the content of a refused answer is moved, as with Alamofire")
    func refusedAnswerMoves() async throws {
        let target = folder.file("file")
        server.route("/gone") { _ in FixtureResponse.text("gone", status: 404) }
        let request = session.download(server.url("/gone"), to: { _, _ in (target, []) }).validate()
        #expect(await request.serializingData().response.error?.responseCode == 404)
        #expect(try String(contentsOf: target, encoding: .utf8) == "gone")
    }

    @Test("a resumable download never moves another answer to its destination", arguments: [false, true])
    func resumableAnswer(isValidated: Bool) async throws {
        let target = folder.file("file")
        try Data("good".utf8).write(to: target)
        server.route("/gone") { _ in FixtureResponse.text("gone", status: 404) }
        let request = session.download(server.url("/gone"), to: { _, _ in (target, .removePreviousFile) })
            .resumable(at: folder.file("file.part"))
        if isValidated { request.validate() }
        let response = await request.serializingString().response
        #expect(isValidated ? response.error?.responseCode == 404 : response.value == "gone")
        #expect(try Data(contentsOf: target) == Data("good".utf8))
        #expect(try names() == ["file"])
    }

    @Test("a resumable download waits for validation")
    func resumableWaits() async throws {
        let target = folder.file("file")
        try Data("good".utf8).write(to: target)
        let request = session.download(server.url("/json"), to: { _, _ in (target, .removePreviousFile) })
            .resumable(at: folder.file("file.part")).validate(contentType: ["text/plain"])
        #expect(await request.serializingData().response.error?.isResponseValidationError == true)
        #expect(try Data(contentsOf: target) == Data("good".utf8))
    }

    @Test("the folders of a partial file are made when that is asked for")
    func partialFolder() async throws {
        let partial = folder.file("a/b/file.part")
        let refused = session.download(server.url("/bytes/10")).resumable(at: partial)
        #expect(await refused.serializingData().response.error != nil)
        let target = folder.file("c/file")
        let request = session.download(
            server.url("/bytes/10"), to: { _, _ in (target, .createIntermediateDirectories) }
        ).resumable(at: partial, options: .createIntermediateDirectories)
        #expect(try await request.serializingData().value.count == 10)
        #expect(try names() == ["a", "c"])
    }

    // MARK: Beside the destination

    /// A download that has content in its file, and waits for more.
    private func begin(
        beside target: URL, _ scripted: ScriptedServer
    ) async -> (DownloadRequest, Task<AFError?, Never>) {
        let (firsts, first) = AsyncStream<Void>.makeStream()
        let request = session.download(
            scripted.url(), to: { _, _ in (target, [.removePreviousFile, .waitForValidation]) }
        ).staged(beside: target).downloadProgress(queue: .global()) { _ in first.yield() }
        let task = Task { await request.serializingData().response.error }
        for await _ in firsts { break }
        return (request, task)
    }

    private static let head = "HTTP/1.1 200 OK\r\nContent-Length: 600000\r\n\r\n"

    @Test("content lies beside its destination, as private as the file there, and goes with a cancelled request")
    func staged() async throws {
        let target = folder.file("file")
        try Data("old".utf8).write(to: target)
        #expect(chmod(target.path, 0o600) == 0)
        let half = String(repeating: "x", count: 300_000)
        let scripted = try ScriptedServer.start([
            .receiveHead, .send(Self.head + half), .hold,
        ])
        let (request, task) = await begin(beside: target, scripted)
        #expect(try await becomes { (try? names().count) == 2 })
        let name = try #require(try names().first { $0 != "file" })
        #expect(name.hasPrefix(".file.") && name.hasSuffix(".part"))
        #expect(status(folder.file(name)).st_mode & 0o777 == 0o600)
        request.cancel()
        #expect(await task.value?.isExplicitlyCancelledError == true)
        #expect(try await becomes { (try? names()) == ["file"] })
        #expect(try Data(contentsOf: target) == Data("old".utf8))
    }

    @Test("complete content beside its destination becomes the destination")
    func stagedMove() async throws {
        let target = folder.file("file")
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("link").path, withDestinationPath: "file")
        let link = folder.file("link")
        let request = session.download(server.url("/bytes/1000"), to: { _, _ in (link, .removePreviousFile) })
            .staged(beside: link)
        #expect(try await request.serializingData().value.count == 1000)
        #expect(try Data(contentsOf: target).count == 1000)
        #expect(try names() == ["file", "link"])
    }

    @Test("what a killed process has left beside a destination goes, and what a living one writes stays")
    func leftovers() async throws {
        let target = folder.file("file")
        let dead = folder.file(".file.0123456789abcdef.part")
        let living = folder.file(".file.fedcba9876543210.part")
        let other = folder.file(".other.0123456789abcdef.part")
        for file in [dead, living, other] { try Data("x".utf8).write(to: file) }
        let handle = try FileHandle(forReadingFrom: living)
        #expect(flock(handle.fileDescriptor, LOCK_EX | LOCK_NB) == 0)
        let request = session.download(server.url("/bytes/10"), to: { _, _ in (target, []) }).staged(beside: target)
        #expect(try await request.serializingData().value.count == 10)
        #expect(try names() == [living, other, target].map(\.lastPathComponent).sorted())
        try handle.close()
    }

    @Test("a device is not written beside", .enabled(if: geteuid() == 0))
    func stagedDevice() async throws {
        let device = folder.file("null")
        #expect(mknod(device.path, S_IFCHR | 0o600, 0x103) == 0)
        let request = session.download(server.url("/bytes/10"), to: { _, _ in (device, .removePreviousFile) })
            .staged(beside: device)
        let file = try await request.serializingDownloadedFileURL().value
        #expect(file == device && status(device).st_mode & S_IFMT == S_IFCHR)
        #expect(try names() == ["null"])
    }
}
