import FireweedTesting
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@Suite("Suggested file names", .timeLimit(.minutes(TestTimeouts.minutes)))
struct SuggestedFileNameTests {
    struct Row: Sendable {
        let path: String
        var type: String?
        var disposition: String?
        let name: String
    }

    static let rows = [
        Row(path: "/a/report", type: "application/pdf", name: "report.pdf"),
        Row(path: "/a/report.txt", type: "application/pdf", name: "report.txt"),
        Row(path: "/", type: "text/html; charset=utf-8", name: "h.example.html"),
        Row(path: "/LICENSE", type: "text/plain", name: "LICENSE.txt"),
        Row(path: "/photo", type: "IMAGE/jpeg", name: "photo.jpeg"),
        Row(path: "/a", type: "application/octet-stream", name: "a"), Row(path: "/a", name: "a"),
        Row(path: "/a", type: "text/x-unknown", name: "a"),
        Row(path: "/%C3%BC%20x?y=z.txt", name: "\u{FC} x"),
        Row(path: "/a", disposition: "attachment; filename=\"b.txt\"; filename*=UTF-8''%C3%A4.txt", name: "\u{E4}.txt"),
        Row(path: "/a", type: "text/csv", disposition: "attachment; filename=b", name: "b.csv"),
        Row(path: "/a", disposition: "attachment; filename=\"../../etc/passwd\"", name: "passwd"),
        Row(path: "/a", disposition: "attachment; filename=\"..\"", name: "a"),
    ]

    @Test("a response, a destination and the suggested destination have Apple's name of a file", arguments: rows)
    func names(row: Row) async throws {
        var fields: HTTPHeaders = [:]
        if let type = row.type { fields.add(.contentType(type)) }
        if let disposition = row.disposition { fields.add(name: "Content-Disposition", value: disposition) }
        let session = Session.stubbed { [fields] in Stub.any().reply(.status(200, headers: fields)) }
        let url = "https://h.example\(row.path)"
        let response = await session.request(url).serializingData(emptyResponseCodes: [200]).response.response
        #expect(response?.suggestedFilename == row.name)

        let shown = ProtectedList<String?>()
        let suggested = DownloadRequest.suggestedDownloadDestination(for: .cachesDirectory)
        let destination: DownloadRequest.Destination = { temporary, response in
            shown.append(response.suggestedFilename)
            shown.append(suggested(temporary, response).destinationURL.lastPathComponent)
            return (temporary, [])
        }
        let request = session.download(url, to: destination)
        _ = await request.serializingData(emptyResponseCodes: [200]).response
        #expect(shown.all == [row.name, row.name])
    }

    @Test("an archive of a response has no type of the library's, and can be read")
    func archive() async throws {
        let session = Session.stubbed { Stub.any().reply(.text("a")) }
        let response = try #require(await session.request("https://h.example/a").serializingData().response.response)
        let data = try NSKeyedArchiver.archivedData(withRootObject: response, requiringSecureCoding: true)
        #expect(data.range(of: Data("Named".utf8)) == nil)
        let read = try NSKeyedUnarchiver.unarchivedObject(ofClass: HTTPURLResponse.self, from: data)
        #expect(read == response && response == read && response.copy() as? HTTPURLResponse === response)
    }
}
