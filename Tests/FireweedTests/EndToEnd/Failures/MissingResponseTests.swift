import Fireweed
import FireweedTransport
import FixtureServer
import Foundation
import Testing

@Suite("Transports that end without a response", .timeLimit(.minutes(TestTimeouts.minutes)))
struct MissingResponseTests {
    private let session = Session(
        transport: ScriptedTransport { message in
            message.url.hasSuffix("/interim") ? [.interim(ResponseHead(status: 103, fields: []))] : []
        }, configuration: .af.ephemeral)

    @Test("a request fails, whatever it is for", arguments: ["", "interim"])
    func failure(path: String) async throws {
        let url = try #require(URL(string: "http://a.test/\(path)"))
        let folder = try TemporaryFolder()
        let errors = [
            await session.request(url).serializingData().response.error,
            await session.upload(Data("content".utf8), to: url).serializingString().response.error,
            await session.download(url, to: { _, _ in (folder.file("file"), []) }).serializingData().response.error,
            await session.request(url, method: .head).serializingData().response.error,
        ]
        for error in errors {
            #expect(error?.urlErrorCode == .badServerResponse, "\(String(describing: error))")
        }
        let request = session.request(url).validate()
        let response: AFDataResponse<Data?> = await withCheckedContinuation { continuation in
            request.response { continuation.resume(returning: $0) }
        }
        #expect(response.error?.urlErrorCode == .badServerResponse && response.response == nil)
        #expect(!FileManager.default.fileExists(atPath: folder.file("file").path))
    }
}
