import Fireweed
import Foundation
import Testing

@Suite("Resume data")
struct ResumeDataTests {
    private static let file = URL(fileURLWithPath: "/tmp/a b/ü.part")

    private static func make(_ validator: ResumeData.Validator?, _ count: Int64?, _ expected: Int64?) throws
        -> ResumeData
    {
        ResumeData(
            url: try #require(URL(string: "https://example.com/big?x=1")),
            headers: ["Authorization": "Bearer t", "Accept-Language": "de"], validator: validator, byteCount: count,
            expectedByteCount: expected, file: file)
    }

    @Test(
        "its bytes give the same value again",
        arguments: [
            (.entityTag("\"a/b\""), 5, 10), (.lastModified("Sat, 01 Nov 2025 00:00:00 GMT"), nil, nil), (nil, 0, nil),
        ] as [(ResumeData.Validator?, Int64?, Int64?)])
    func roundTrip(validator: ResumeData.Validator?, count: Int64?, expected: Int64?) throws {
        let value = try Self.make(validator, count, expected)
        #expect(try ResumeData(value.data) == value)
    }

    @Test("its form is the documented one")
    func form() throws {
        let data = try Self.make(.entityTag("\"v1\""), 5, 10).data
        #expect(
            String(decoding: data, as: UTF8.self)
                == #"{"byteCount":5,"entityTag":"\"v1\"","expectedByteCount":10,"file":"/tmp/a b/ü.part","#
                + #""fireweedResumeData":1,"headers":[["Authorization","Bearer t"],["Accept-Language","de"]],"#
                + #""url":"https://example.com/big?x=1"}"#)
    }

    @Test("members that are not known are ignored")
    func unknownMembers() throws {
        let text = #"{"fireweedResumeData":1,"url":"http://h/","file":"/f","later":{"a":[1]}}"#
        #expect(try ResumeData(Data(text.utf8)).file.path == "/f")
    }

    @Test("a later version says so")
    func version() throws {
        let error = #expect(throws: ResumeError.self) {
            try ResumeData(Data(#"{"fireweedResumeData":2,"something":"else"}"#.utf8))
        }
        guard case .unsupportedVersion(2) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test(
        "what is none is refused",
        arguments: [
            "", "{}", "[]", "bplist00", #"{"fireweedResumeData":"1"}"#, #"{"fireweedResumeData":1}"#,
            #"{"fireweedResumeData":1,"url":"file:///etc/passwd","file":"/f"}"#,
            #"{"fireweedResumeData":1,"url":"http://h/","file":"f"}"#,
            #"{"fireweedResumeData":1,"url":"http://h/","file":"/f\u0000g"}"#,
            #"{"fireweedResumeData":1,"url":"http://h/"}"#,
            #"{"fireweedResumeData":1,"url":"http://h/","file":"/f","byteCount":-1}"#,
            #"{"fireweedResumeData":1,"url":"http://h/","file":"/f","entityTag":"W/\"v\""}"#,
            #"{"fireweedResumeData":1,"url":"http://h/","file":"/f","entityTag":"\"a\r\nX-Y: z\""}"#,
            #"{"fireweedResumeData":1,"url":"http://h/","file":"/f","lastModified":"x"}"#,
            #"{"fireweedResumeData":1,"url":"http://h/","file":"/f","headers":[["a"]]}"#,
        ])
    func unreadable(text: String) {
        let error = #expect(throws: ResumeError.self) { try ResumeData(Data(text.utf8)) }
        guard case .unreadable = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("bytes that are none fail the download before anything is sent")
    func downloadOfNonsense() async {
        let session = Session.isolated()
        let response = await session.download(resumingWith: Data("nonsense".utf8))
            .serializingDownloadedFileURL().response
        guard case .createURLRequestFailed(ResumeError.unreadable) = response.error else {
            Issue.record("\(String(describing: response.error))")
            return
        }
        #expect(response.resumeData == nil)
    }
}
