import Dispatch
import FixtureServer
import Foundation
import Synchronization
import Testing

@testable import FireweedTransport

@Suite("Origin pool: exchanges that send files", .timeLimit(.minutes(TestTimeouts.minutes)))
struct FileLineTests {
    let folder: TemporaryFolder
    let file: URL
    /// The names of files whose opening has begun.
    let openings = EventLog<String>()

    init() throws {
        folder = try TemporaryFolder()
        file = folder.file("file")
        try Data("content".utf8).write(to: file)
    }

    /// Notes each opening, and has `hook` called before the file is opened.
    private func parts(_ hook: @escaping @Sendable (URL) throws -> Void = { _ in }) -> EngineParts {
        var parts = EngineParts()
        parts.openFile = { [openings] url in
            openings.note(url.lastPathComponent)
            try hook(url)
            return try OpenFile(url)
        }
        return parts
    }

    private func upload(_ file: URL, to url: URL, on stage: EngineStage) -> RecordedTransfer {
        stage.transfer(url) { message in
            message.method = "POST"
            message.content = .file(file)
        }
    }

    @Test("few files are opened before their exchanges have a connection; requests pass files that do not answer")
    func ahead() async throws {
        let server = try FixtureServer.start()
        let gate = DispatchSemaphore(value: 0)
        try await EngineStage.play(parts: parts { _ in gate.wait() }) { stage in
            #expect(try await stage.end(server.url("/get")).code == nil)
            let limit = Descriptors.aheadLimit
            let transfers = (0..<3 * limit).map { _ in upload(file, to: server.url("/upload"), on: stage) }
            for transfer in transfers { transfer.start() }
            try await openings.nth(limit) { _ in true }
            #expect(try await stage.end(server.url("/get")).code == nil)
            #expect(openings.events.count == limit)
            for _ in transfers { gate.signal() }
            for transfer in transfers { #expect(try await transfer.end().failure == nil) }
            #expect(openings.events.count == transfers.count)
        }
    }

    @Test("an upload that is cancelled while its file does not answer lets the next one have its file opened")
    func cancelled() async throws {
        let server = try FixtureServer.start()
        let gate = DispatchSemaphore(value: 0)
        let parts = parts { if $0.lastPathComponent == "stuck" { gate.wait() } }
        try await EngineStage.play(parts: parts) { stage in
            #expect(try await stage.end(server.url("/get")).code == nil)
            let stuck = (0..<Descriptors.aheadLimit).map { _ in
                upload(folder.file("stuck"), to: server.url("/upload"), on: stage)
            }
            for transfer in stuck { transfer.start() }
            try await openings.nth(stuck.count) { _ in true }
            let last = upload(file, to: server.url("/upload"), on: stage)
            last.start()
            stuck[0].cancel()
            #expect(try await last.end().failure == nil)
            for transfer in stuck {
                transfer.cancel()
                #expect(try await transfer.end().isCancelled)
            }
            for _ in stuck { gate.signal() }
        }
    }

    @Test("uploads that are suspended with open files hold up no other upload, and run when they may")
    func suspended() async throws {
        let count = 40
        let upload: [ScriptedServer.Action] = [.receiveHead, .receiveContent, .send(Answer.small)]
        let server = try ScriptedServer.start(
            [.receiveHead, .wait(for: "go"), .send(Answer.small)] + (0...count).flatMap { _ in upload } + [.hold])
        try await EngineStage.play(limit: 1, parts: parts()) { stage in
            let first = stage.transfer(server.url("/first"))
            first.start()
            try await server.events.first { if case .head = $0 { true } else { false } }
            let waiting = (0..<count).map { _ in self.upload(file, to: server.url("/waiting"), on: stage) }
            for transfer in waiting { transfer.start() }
            try await openings.nth(min(count, Descriptors.aheadLimit)) { _ in true }
            for transfer in waiting { transfer.setFlow(.suspended, revision: 1) }
            let last = self.upload(file, to: server.url("/last"), on: stage)
            last.start()
            server.signal("go")
            #expect(try await last.end().failure == nil)
            for transfer in waiting {
                #expect(transfer.recorder.calls.events.isEmpty)
                transfer.setFlow(.running, revision: 2)
            }
            for transfer in waiting { #expect(try await transfer.end().failure == nil) }
        }
    }

    @Test("an upload without a descriptor for its file waits where its origin has connections, and fails elsewhere")
    func exhausted() async throws {
        let upload: [ScriptedServer.Action] = [.receiveHead, .receiveContent, .wait(for: "go"), .send(Answer.small)]
        let server = try ScriptedServer.start(upload + [.receiveHead, .receiveContent, .send(Answer.small), .hold])
        let refusals = Mutex(2)
        let parts = parts { url in
            guard url.lastPathComponent == "refused" else { return }
            let isRefused = refusals.withLock { rest in
                rest -= 1
                return rest >= 0
            }
            if isRefused {
                throw URLError(.cannotOpenFile, userInfo: [NSUnderlyingErrorKey: POSIXError(.EMFILE)])
            }
        }
        let refused = folder.file("refused")
        try Data("content".utf8).write(to: refused)
        try await EngineStage.play(limit: 1, parts: parts) { stage in
            let alone = self.upload(refused, to: server.url("/alone"), on: stage)
            alone.start()
            guard case .unreadableBody = try await alone.end().failure else {
                Issue.record("the upload that has nothing to wait for does not fail")
                return
            }
            let first = self.upload(file, to: server.url("/first"), on: stage)
            first.start()
            try await server.events.first { if case .head = $0 { true } else { false } }
            let second = self.upload(refused, to: server.url("/second"), on: stage)
            second.start()
            try await openings.nth(2) { $0 == "refused" }
            server.signal("go")
            #expect(try await first.end().failure == nil)
            #expect(try await second.end().failure == nil)
            #expect(openings.events.count { $0 == "refused" } == 3)
        }
    }
}
