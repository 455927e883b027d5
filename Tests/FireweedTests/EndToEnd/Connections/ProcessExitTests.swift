import FixtureServer
import Foundation
import Testing

@Suite("Process exit, fork and lack of descriptors", .timeLimit(.minutes(TestTimeouts.minutes)))
struct ProcessExitTests {
    @Test("a process that ends in mid-transfer ends cleanly, 1,000 times out of 1,000")
    func exitInMidTransfer() async throws {
        let authority = try CertificateAuthority()
        let server = try FixtureServer.start()
        let secure = try NginxServer(certificate: authority.issue())
        // In clear text content flows; the handshake of the other one is under way, or refused, when the process ends.
        let arguments = [server.url("/bytes/1000000000").absoluteString, secure.secureURL?.absoluteString ?? ""]
        let failures = await withTaskGroup(of: [String].self) { group in
            for _ in 0..<2 {
                group.addTask {
                    var failures: [String] = []
                    for _ in 0..<500 { failures += await failure(["exit"] + arguments) }
                    return failures
                }
            }
            return await group.reduce([], +)
        }
        #expect(failures.isEmpty)
    }

    @Test(
        "a process whose first use of OpenSSL came before its first session ends cleanly, 200 times out of 200",
        arguments: FirstUseTableTests.types)
    func firstUse(type: String) async throws {
        let authority = try CertificateAuthority()
        let server = try FixtureServer.start(certificate: authority.issue())
        let folder = try TemporaryFolder()
        let url = "https://localhost:\(server.port)/bytes/1000000000"
        var failures: [String] = []
        for _ in 0..<200 {
            failures += await failure(["first", type, folder.url.path, authority.certificate.path, url])
        }
        #expect(failures.isEmpty)
    }

    @Test("10,000 requests, 64 at once: no descriptor, thread or memory more than after the first 1,000")
    func nothingGrows() async throws {
        struct Facts: Decodable {
            let threads: Int
            let descriptors: Int
            let residentKibibytes: Int
        }
        let server = try NginxServer()
        let folder = try TemporaryFolder()
        let output = try await Program.run(
            TestPrograms.url.path,
            ["process", "growth", server.url.appendingPathComponent("small").absoluteString], in: folder.url)
        let facts = try JSONDecoder().decode([Facts].self, from: output.data)
        let (first, last) = (try #require(facts.first), try #require(facts.last))
        // Six connections, whatever comes and goes; Swift's own pools of threads may still be filling, and Dispatch
        // opens a descriptor or two when it first has timers of another kind.
        #expect(last.descriptors <= first.descriptors + 4 && first.descriptors < 32)
        #expect(last.threads <= first.threads + 2 && first.threads < 16)
        #expect(last.residentKibibytes <= first.residentKibibytes + 4 * 1024)
    }

    @Test("a process that is out of descriptors at its first request gets an error, and works when there are some")
    func starved() async throws {
        let server = try ScriptedServer.start([
            .receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), .close,
        ])
        let folder = try TemporaryFolder()
        let output = try await Program.run(
            TestPrograms.url.path,
            ["process", "starved", server.url().absoluteString], in: folder.url)
        #expect(output.text == "error \(URLError.cannotLoadFromNetwork.rawValue)\nok\nok\n", "\(output.errors)")
        #expect(output.code == 0)
    }

    @Test("idle connections of other sessions give way to requests, downloads and uploads that need descriptors")
    func crowded() async throws {
        let server = try FixtureServer.start()
        let folder = try TemporaryFolder()
        let output = try await Program.run(
            TestPrograms.url.path, ["process", "crowded", server.url("/anything").absoluteString], in: folder.url)
        #expect(
            output.text == """
                before ok ok ok
                request ok
                download ok
                upload ok
                sessions 100 failures 0

                """, "\(output.errors)")
        #expect(output.code == 0)
    }

    @Test("1,000 uploads of files at once succeed in a process with 128 descriptors")
    func manyUploads() async throws {
        let server = try FixtureServer.start()
        let folder = try TemporaryFolder()
        let output = try await Program.run(
            TestPrograms.url.path, ["process", "uploads", server.url("/upload").absoluteString], in: folder.url)
        #expect(output.text == "failures 0 \n", "\(output.errors)")
        #expect(output.code == 0)
    }

    @Test("files that do not answer cost at most as many threads as may be lost; beyond them, an error says so")
    func lostThreads() async throws {
        // A server that takes uploads for as long as they come.
        let server = try FixtureServer.start()
        let folder = try TemporaryFolder()
        let output = try await Program.run(
            TestPrograms.url.path, ["process", "lost", folder.url.path, server.url("/anything").absoluteString],
            in: folder.url)
        let lines = output.text.split(separator: "\n")
        #expect(lines.count == 2, "\(output.text) \(output.errors)")
        let start = "\(URLError.Code.cannotOpenFile.rawValue) \(folder.url.path)/file could not be read: "
        #expect(lines.first?.hasPrefix(start) == true)
        #expect(lines.first?.hasSuffix("do not answer: 128 threads wait for calls that do not return") == true)
        #expect(lines.last == "status 200")
    }

    @Test("120 sessions that are dropped in mid-download leave no descriptor and no thread")
    func droppedSessions() async throws {
        struct Facts: Decodable {
            let threads: Int
            let descriptors: Int
        }
        let server = try FixtureServer.start()
        let folder = try TemporaryFolder()
        let output = try await Program.run(
            TestPrograms.url.path,
            ["process", "drops", server.url("/bytes/1000000000").absoluteString], in: folder.url)
        let facts = try JSONDecoder().decode([Facts].self, from: output.data)
        let (first, last) = (try #require(facts.first), try #require(facts.last))
        // Dispatch opens a descriptor when it first has a timer of another kind.
        #expect(last.descriptors <= first.descriptors + 1, "\(first) \(last)")
        #expect(last.threads <= first.threads + 4, "\(first) \(last)")
    }

    @Test(
        "100 HTTP/2 streams that end before others of their connection leave nothing of what came while they stood still",
        arguments: ["cancelUndecided", "cancelFailed"])
    func keptContent(job: String) async throws {
        let server = try FixtureServer.start()
        // The checksum at the end is wrong: the transfer fails when a megabyte has been decoded.
        let broken = try #require(CodingEndpoints.gzip(Data(count: 1_000_000))).dropLast(8) + Data(count: 8)
        server.route("/broken") { _ in
            FixtureResponse(fields: [("Content-Encoding", "gzip")], body: .data(broken))
        }
        let authority = try CertificateAuthority()
        let secure = try NginxServer(certificate: authority.issue(), forwardingTo: server.url)
        let url = try #require(secure.secureURL).absoluteString
        let growth = try await heapGrowth([job, url, authority.certificate.path])
        // The 100,000 bytes of each that is cancelled were kept, and the megabyte of each that fails.
        #expect(growth < 400_000)
    }

    @Test("100 empty downloads that are read leave nothing on the heap")
    func emptyDownloads() async throws {
        let server = try FixtureServer.start()
        let growth = try await heapGrowth(["download", server.url.absoluteString])
        // Each left 4 KiB.
        #expect(growth < 100_000)
    }

    /// How many bytes more are on the heap of a process after doing something a hundred times.
    private func heapGrowth(_ arguments: [String]) async throws -> Int {
        let folder = try TemporaryFolder()
        let output = try await Program.run(
            TestPrograms.url.path, ["process", "repeat"] + arguments, in: folder.url)
        let counts = try JSONDecoder().decode([Int].self, from: output.data)
        return try #require(counts.last) - #require(counts.first)
    }

    @Test("in a process that was forked, a request of the parent's session fails with a reason; the parent goes on")
    func fork() async throws {
        let server = try FixtureServer.start()
        let folder = try TemporaryFolder()
        let output = try await Program.run(
            TestPrograms.url.path,
            ["process", "fork", server.url("/get").absoluteString],
            in: folder.url)
        let lines = String(decoding: output.data, as: UTF8.self).split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.first?.contains("make a new session after fork()") == true, "\(lines)")
        #expect(lines.last == "parent goes on, child ended with 0")
    }

    /// How a run ended, when that was not as it should be.
    private func failure(_ arguments: [String]) async -> [String] {
        await withCheckedContinuation { continuation in
            let process = Process()
            process.executableURL = TestPrograms.url
            process.arguments = ["process"] + arguments
            process.standardError = FileHandle.nullDevice
            process.terminationHandler = { ended in
                let isClean = ended.terminationReason == .exit && ended.terminationStatus == 0
                let kind = ended.terminationReason == .exit ? "status" : "signal"
                continuation.resume(returning: isClean ? [] : ["\(kind) \(ended.terminationStatus)"])
            }
            do {
                try process.start()
            } catch {
                process.terminationHandler = nil
                continuation.resume(returning: ["\(error)"])
            }
        }
    }
}
