import Fireweed
import Foundation
import FoundationNetworking
import Testing

/// Parameters that are not `Sendable`, for encoders that are called directly.
@Suite("Parameters that are not Sendable")
struct UnsharedParametersTests {
    private final class Draft: Encodable {
        var title = "a b"
    }

    @Test("JSONParameterEncoder and URLEncodedFormParameterEncoder take them")
    func encoders() throws {
        let draft = Draft()
        var request = URLRequest(url: try #require(URL(string: "https://h.example/")))
        request.httpMethod = "POST"
        let json = try JSONParameterEncoder.default.encode(draft, into: request)
        #expect(json.httpBody == Data(#"{"title":"a b"}"#.utf8))
        let form = try URLEncodedFormParameterEncoder.default.encode(draft, into: request)
        #expect(form.httpBody == Data("title=a%20b".utf8))
    }
}
