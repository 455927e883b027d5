import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("Limits", .timeLimit(.minutes(TestTimeouts.minutes)))
struct LimitTests {
    private let ok = "HTTP/1.1 200 OK\r\n"

    private func refusal(of response: AFDataResponse<Data>) -> TransferRefusal? {
        let error = response.error?.underlyingError as? URLError
        #expect(error == nil || error?.localizedDescription.isEmpty == false)
        return error?.userInfo[NSUnderlyingErrorKey] as? TransferRefusal
    }

    private func response(
        to script: [ScriptedServer.Action], _ change: (inout TransportOptions) -> Void = { _ in }
    ) async throws -> AFDataResponse<Data> {
        let server = try ScriptedServer.start(script)
        var options = TransportOptions()
        change(&options)
        let session = Session.isolated(transportOptions: options)
        defer { withExtendedLifetime(session) {} }
        return await session.request(server.url()).serializingData().response
    }

    @Test("what is within its limit passes, and one more does not")
    func edges() async throws {
        let fields = String(repeating: "A: b\r\n", count: 9) + "Content-Length: 1\r\n\r\nx"
        let interim = String(repeating: "HTTP/1.1 103 Early Hints\r\n\r\n", count: 5)
        func play(_ text: String) -> [ScriptedServer.Action] { [.receiveHead, .send(text), .close] }
        let passing = try await response(to: play(interim + ok + fields)) {
            $0.maximumHeaderFieldCount = 10
            $0.maximumInterimResponseCount = 5
            $0.maximumBodyByteCount = 1
        }
        #expect(passing.error == nil, "\(passing)")
        #expect(
            refusal(of: try await response(to: play(ok + fields)) { $0.maximumHeaderFieldCount = 9 })
                == .headerFields(limit: 9))
        #expect(
            refusal(of: try await response(to: play(interim + ok + fields)) { $0.maximumInterimResponseCount = 4 })
                == .interimResponses(limit: 4))
        #expect(
            refusal(of: try await response(to: play(ok + fields)) { $0.maximumBodyByteCount = 0 })
                == .bodyBytes(limit: 0))
        #expect(
            refusal(of: try await response(to: play(ok + fields)) { $0.maximumHeaderByteCount = 40 })
                == .headerBytes(limit: 40))
    }

    @Test("the default limits end what never ends")
    func defaults() async throws {
        let many = 10_000_000
        func play(_ begin: String, _ again: String) -> [ScriptedServer.Action] {
            [.receiveHead, .send(begin), .sendRepeatedly(again, count: many), .close]
        }
        #expect(
            refusal(of: try await response(to: play("", "HTTP/1.1 103 Early Hints\r\n\r\n")))
                == .interimResponses(limit: 100))
        #expect(refusal(of: try await response(to: play(ok, "A: b\r\n"))) == .headerFields(limit: 1000))
        let line = "A: \(String(repeating: "b", count: 5000))\r\n"
        #expect(refusal(of: try await response(to: play(ok, line))) == .headerBytes(limit: 300 * 1024))
        let chunk = ok + "Transfer-Encoding: chunked\r\n\r\n5;"
        #expect(refusal(of: try await response(to: play(chunk, "a=b;c=d;"))) == .framingBytes(limit: 256 * 1024))
    }

    @Test("redirects are followed as often as the session says")
    func redirects() async throws {
        let server = try FixtureServer.start()
        let session = Session(configuration: .af.ephemeral, options: SessionOptions(maximumRedirectCount: 2))
        #expect(await session.request(server.url("/redirect/2")).serializingData().response.error == nil)
        let error = await session.request(server.url("/redirect/3")).serializingData().response.error
        #expect(error?.urlErrorCode == .httpTooManyRedirects)
        #expect(error?.localizedDescription.contains("more than 2") == true, "\(String(describing: error))")
    }

    /// 10 MB of gzip that would be 10 GB: one compressed block again and again.
    private func bomb(in folder: TemporaryFolder) throws -> Data {
        let file = folder.file("bomb.gz")
        let program = """
            import sys, zlib
            packer = zlib.compressobj(9, zlib.DEFLATED, 31)
            zeros = bytes(1 << 20)
            first = packer.compress(zeros) + packer.flush(zlib.Z_FULL_FLUSH)
            block = packer.compress(zeros) + packer.flush(zlib.Z_FULL_FLUSH)
            open(sys.argv[1], "wb").write(first + block * 10000)
            """
        let python = Process()
        python.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        python.arguments = ["python3", "-c", program, file.path]
        try python.start()
        python.waitUntilExit()
        return try Data(contentsOf: file)
    }

    @Test("ten megabytes that would become ten gigabytes stop early")
    func expansion() async throws {
        let bomb = try bomb(in: TemporaryFolder())
        #expect(bomb.count > 9_000_000)
        let head = ok + "Content-Encoding: gzip\r\nContent-Length: \(bomb.count)\r\n\r\n"
        let server = try ScriptedServer.start([.receiveHead, .send(head), .sendData(bomb), .close])
        let taken = ProtectedList<Int>()
        let session = Session.isolated()
        defer { withExtendedLifetime(session) {} }
        let request = session.streamRequest(server.url())
        let error = await withCheckedContinuation { continuation in
            request.responseStream(on: .global()) { stream in
                switch stream.event {
                case .stream(.success(let data)): taken.append(data.count)
                case .complete(let completion): continuation.resume(returning: completion.error)
                }
            }
        }
        let failure = (error?.underlyingError as? URLError)?.userInfo[NSUnderlyingErrorKey] as? TransferRefusal
        #expect(failure == .expansion(limit: 200), "\(String(describing: error))")
        #expect(taken.all.reduce(0, +) < 64 * 1024 * 1024)
    }

    @Test("what expands a lot and stays small is no attack, and the ratio is an option")
    func smallExpansion() async throws {
        let bomb = try bomb(in: TemporaryFolder())
        // The first blocks, as a stream that stops short: the failure is of the content, not of a limit.
        let short = bomb.prefix(8 * 1024)
        let head = ok + "Content-Encoding: gzip\r\nContent-Length: \(short.count)\r\n\r\n"
        let small = try await response(to: [.receiveHead, .send(head), .sendData(short), .close])
        #expect(refusal(of: small) == nil)
        let longer = bomb.prefix(64 * 1024)
        let longHead = ok + "Content-Encoding: gzip\r\nContent-Length: \(longer.count)\r\n\r\n"
        let free = try await response(to: [.receiveHead, .send(longHead), .sendData(longer), .close]) {
            $0.maximumExpansionRatio = nil
        }
        #expect(refusal(of: free) == nil)
        let strict = try await response(to: [.receiveHead, .send(longHead), .sendData(longer), .close]) {
            $0.maximumExpansionRatio = 10
        }
        #expect(refusal(of: strict) == .expansion(limit: 10))
    }

    @Test("a form has as many parts as it may have, and one more is an error")
    func parts() throws {
        let form = MultipartFormData()
        form.maximumPartCount = 3
        for number in 0..<3 { form.append(Data("x".utf8), withName: "\(number)") }
        #expect(throws: Never.self) { try form.encode() }
        form.append(Data("x".utf8), withName: "one more")
        #expect {
            try form.encode()
        } throws: { error in
            guard let error = error.asAFError, error.isMultipartEncodingError,
                case MultipartFormDataError.tooManyParts(limit: 3)? = error.underlyingError
            else { return false }
            return error.localizedDescription.contains("3")
        }
        #expect(MultipartFormData().maximumPartCount == 10_000)
    }
}
