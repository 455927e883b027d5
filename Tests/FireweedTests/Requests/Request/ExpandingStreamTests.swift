import Fireweed
import FixtureServer
import Foundation
import Testing

// A little coded content becomes much, which must neither be lost nor pile up while the reader rests.
@Suite("Back-pressure of coded content", .timeLimit(.minutes(TestTimeouts.minutes)), .serialized)
struct ExpandingStreamTests {
    private func server(of content: Data) throws -> ScriptedServer {
        let coded = try #require(CodingEndpoints.gzip(content))
        let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(coded.count)\r\n\r\n"
        return try ScriptedServer.start([.receiveHead, .sendData(Data(head.utf8) + coded), .hold])
    }

    @Test("a limit that is met in content that was kept ends the request at once")
    func keptLimit() async throws {
        let server = try server(of: Data(count: 40 << 20))
        var options = TransportOptions()
        options.maximumExpansionRatio = nil
        options.maximumBodyByteCount = 24 << 20
        // Without a time-out: nothing else would end the request.
        let session = Session.isolated(transportOptions: options) { $0.timeoutIntervalForRequest = 0 }
        var read = 0
        var error: AFError?
        for await stream in session.streamRequest(server.url()).streamTask().streamingData() {
            read += stream.value?.count ?? 0
            error = stream.completion?.error ?? error
        }
        #expect(error?.urlErrorCode == .dataLengthExceedsMaximum)
        #expect(read <= 24 << 20)
    }

    @Test("content that grows less than the limit allows comes whole, however slowly it is read")
    func slowReader() async throws {
        var content = Data()
        var generator = SystemRandomNumberGenerator()
        let zeros = Data(count: 2_700)
        for _ in 0..<45_000 {
            withUnsafeBytes(of: (generator.next(), generator.next())) { content.append(contentsOf: $0) }
            content.append(zeros)
        }
        let count = content.count
        let server = try server(of: content)
        var read = 0
        var error: AFError?
        let session = Session.isolated()
        for await stream in session.streamRequest(server.url()).streamTask().streamingData() {
            read += stream.value?.count ?? 0
            error = stream.completion?.error ?? error
            await Task.yield()
        }
        #expect(error == nil)
        #expect(read == count)
    }
}
