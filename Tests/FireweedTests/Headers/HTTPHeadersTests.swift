import Fireweed
import Foundation
import Testing

@Suite("Header fields")
struct HTTPHeadersTests {
    @Test("names are compared without case, and keep their place")
    func order() {
        var headers: HTTPHeaders = ["B": "1", "a": "2", "b": "3"]
        #expect(headers.map(\.description) == ["b: 3", "a: 2"])
        headers["A"] = nil
        #expect(headers.value(for: "B") == "3" && headers.count == 1)
        headers.add(name: "A", value: "4")
        #expect(headers.sorted().map(\.name) == ["A", "b"])
    }

    @Test("credentials become an Authorization field")
    func authorization() {
        #expect(HTTPHeader.authorization(username: "u", password: "p").value == "Basic dTpw")
        #expect(HTTPHeader.authorization(bearerToken: "t").value == "Bearer t")
    }

    @Test("the user agent names program, system and library")
    func userAgent() {
        #expect(HTTPHeader.defaultUserAgent.value.contains("Linux "))
        #expect(HTTPHeader.defaultUserAgent.value.hasSuffix(" Fireweed/\(AFInfo.version)"))
    }
}
