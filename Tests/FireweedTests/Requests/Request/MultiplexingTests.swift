import Fireweed
import FixtureServer
import Foundation
import Testing

// The connection keeps what comes for one stream while it reads for another: no stream may fail by that, and nothing be
// lost.
@Suite("Streams beside each other over HTTP/2", .timeLimit(.minutes(TestTimeouts.minutes)), .serialized)
struct MultiplexingTests {
    /// A server for HTTP/2 with documents "small" and "big".
    private struct Multiplexing {
        private let authority: CertificateAuthority
        private let nginx: NginxServer
        let session: Session
        let small: URL
        let big: URL

        init(byteCount: Int) throws {
            authority = try CertificateAuthority()
            nginx = try NginxServer(certificate: authority.issue())
            let file = nginx.documents.appendingPathComponent("big")
            #expect(FileManager.default.createFile(atPath: file.path, contents: nil))
            let handle = try FileHandle(forWritingTo: file)
            try handle.truncate(atOffset: UInt64(byteCount))
            try handle.close()
            let url = try #require(nginx.secureURL)
            small = url.appendingPathComponent("small")
            big = url.appendingPathComponent("big")
            var options = TransportOptions()
            options.certificateAuthorities = .file(authority.certificate)
            session = Session.isolated(transportOptions: options)
        }

        /// Asks for the small document, again and again; gives what went wrong.
        func askForSmall(times count: Int) async -> [String] {
            var wrongs: [String] = []
            for _ in 0..<count {
                let response = await session.request(small).serializingData().response
                let name = response.metrics?.transactionMetrics.last?.networkProtocolName
                guard response.error != nil || name != "h2" else { continue }
                wrongs.append("\(response.result) over \(name ?? "nothing")")
            }
            return wrongs
        }
    }

    @Test("what came for a cancelled request is never part of a later response")
    func cancelledWithContent() async throws {
        let server = try Multiplexing(byteCount: 1 << 20)
        let expected = try await server.session.request(server.small).serializingData().value
        // One stream keeps the connection in use.
        let resting = server.session.streamRequest(server.big)
        var iterator = resting.streamTask().streamingData().makeAsyncIterator()
        #expect(await iterator.next() != nil)
        for _ in 0..<10 {
            // Its content waits for a decision that never comes; the request after it shows that the content is here.
            let (heads, head) = AsyncStream<Void>.makeStream()
            let cancelled = server.session.request(server.big)
                .onHTTPResponse(on: .global()) { _, _ in head.finish() }
            let task = cancelled.serializingData()
            async let response = task.response
            for await _ in heads {}
            #expect(await server.askForSmall(times: 1).isEmpty)
            cancelled.cancel()
            #expect(await response.error?.isExplicitlyCancelledError == true)
            let later = server.session.request(server.small)
                .onHTTPResponse(on: .global()) { _, decide in decide(.allow) }
            #expect(try await later.serializingData().value == expected)
        }
        resting.cancel()
    }

    @Test("a paused stream delays no other stream, and memory stays flat")
    func multiplexed() async throws {
        let server = try Multiplexing(byteCount: 1 << 30)
        #expect(await server.askForSmall(times: 1).isEmpty)
        let before = ResidentMemory.kibibytes
        let request = server.session.streamRequest(server.big)
        var iterator = request.streamTask().streamingData().makeAsyncIterator()
        var read = 0
        while read < 1 << 20 { read += try #require(await iterator.next()?.value?.count) }
        let wrongs = await server.askForSmall(times: 300)
        #expect(wrongs.isEmpty)
        #expect(try #require(request.task).countOfBytesReceived < 4 << 20)
        #expect(ResidentMemory.kibibytes - before < 640 * 1024)
        request.cancel()
    }

    @Test("streams, downloads and small requests beside each other all come whole")
    func beside() async throws {
        let byteCount = 4 << 20
        let server = try Multiplexing(byteCount: byteCount)
        let (session, big) = (server.session, server.big)
        #expect(await server.askForSmall(times: 1).isEmpty)
        for _ in 0..<3 {  // from the second time on with handles that have been used
            let wrongs = await withTaskGroup(of: [String].self, returning: [String].self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        var read = 0
                        for await stream in session.streamRequest(big).streamTask().streamingData() {
                            read += stream.value?.count ?? 0
                            if let error = stream.completion?.error { return ["a stream: \(error)"] }
                        }
                        return read == byteCount ? [] : ["a stream of \(read) bytes"]
                    }
                    group.addTask {
                        let response = await session.request(big).serializingData().response
                        return response.value?.count == byteCount ? [] : ["data: \(response)"]
                    }
                }
                group.addTask { await server.askForSmall(times: 100) }
                return await group.reduce(into: []) { $0 += $1 }
            }
            #expect(wrongs.isEmpty)
        }
    }

    @Test("bytes in flight for a cancelled stream are not counted against other streams")
    func cancelled() async throws {
        let server = try Multiplexing(byteCount: 1 << 30)
        #expect(await server.askForSmall(times: 1).isEmpty)
        for _ in 0..<10 {
            let request = server.session.streamRequest(server.big)
            var iterator = request.streamTask().streamingData().makeAsyncIterator()
            _ = await iterator.next()
            async let wrongs = server.askForSmall(times: 20)
            request.cancel()
            let found = await wrongs
            #expect(found.isEmpty)
        }
    }
}
