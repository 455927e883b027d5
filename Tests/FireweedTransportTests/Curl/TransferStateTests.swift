import Foundation
import Testing

@testable import FireweedTransport

@Suite("The state machine of transfers")
struct TransferStateTests {
    @Test(
        "however it goes, a transfer is reported once", arguments: TransferState.Event.allCases,
        TransferState.Event.allCases)
    func reportsOnce(first: TransferState.Event, second: TransferState.Event) {
        for start in [[], [TransferState.Event.start]] {
            var state = TransferState.waiting
            let effects = (start + [first, second, .end, .cancel]).map { state.handle($0) }
            #expect(effects.count { $0 == .report || $0 == .detachAndReport } == 1)
            #expect(effects.count { $0 == .attach } == effects.count { $0 == .detachAndReport })
            #expect(state == .finished)
        }
    }
}

@Suite("libcurl's codes")
struct CurlFailureTests {
    @Test("every code that an HTTP transfer can end with has a URLError of its own")
    func everyCode() {
        for number in UInt32(1)...98 where !CurlFailure.otherProtocols.contains(where: { $0.contains(number) }) {
            let name = CurlFailure.name(of: number)
            guard !name.hasPrefix("Unknown error") else { continue }
            let failure = CurlFailure.failure(code: number, text: "")
            guard case .exchange(let code, let detail, let engineCode) = failure else {
                Issue.record("\(number) is no failure of an exchange")
                continue
            }
            #expect(code != .unknown, "\(number): \(name)")
            #expect(!detail.isEmpty && engineCode == Int(number))
        }
    }

    @Test(
        "what libcurl says in its sentence only is read from there",
        arguments: [
            (56, "Malformed encoding found in chunked-encoding", URLError.Code.cannotParseResponse),
            (56, "Recv failure: Connection reset by peer", .networkConnectionLost),
            (56, "OpenSSL SSL_read: … tlsv13 alert certificate required", .clientCertificateRequired),
            (35, "… sslv3 alert bad certificate", .clientCertificateRejected),
            (35, "no protocols in common", .secureConnectionFailed),
            (60, "", .serverCertificateUntrusted),
        ])
    func sentences(code: UInt32, text: String, expected: URLError.Code) {
        guard case .exchange(let found, _, _) = CurlFailure.failure(code: code, text: text) else {
            Issue.record("no failure of an exchange")
            return
        }
        #expect(found == expected)
    }
}

@Suite("Response heads")
struct HeadReaderTests {
    private func read(_ lines: [String], limit: Int = 1000) -> [HeadReader.Event] {
        let reader = HeadReader()
        reader.limits.byteCount = limit
        reader.limits.fieldCount = 10
        reader.limits.interimResponseCount = 20
        return lines.flatMap { events(of: line($0), in: reader) }
    }

    private func line(_ text: String) -> [UInt8] { Array((text + "\r\n").utf8) }

    private func events(of lines: [UInt8], in reader: HeadReader) -> [HeadReader.Event] {
        var events: [HeadReader.Event] = []
        _ = lines.withUnsafeBytes { bytes in
            reader.append(bytes) {
                events.append($0)
                return true
            }
        }
        return events
    }

    @Test("lines that come in one call are lines: a status line alone begins a head")
    func gathered() {
        let reader = HeadReader()
        let lines = ["HTTP/1.1 200 OK", "A: 1", "B: 2", ""].flatMap(line)
        guard case .head(let head) = events(of: lines, in: reader).last else {
            Issue.record("the head did not come")
            return
        }
        #expect(head.fields == [Field(name: "A", value: "1"), Field(name: "B", value: "2")])
    }

    @Test(
        "what is no status line begins no head (RFC 9112 §4)",
        arguments: [
            "HTTP/1.1  200 OK", "http/1.1 200 OK", "HTTP/2 20", "HTTP/ 1.1 200", "HTTP/1.1 2000 OK", "HTTP/1.1 099",
            "HTTP/1.1 20x", "HTTP/1.1", "HTTP/1.1 ", "HTTP/1.11 200 OK", "A: 1", "",
        ])
    func malformed(text: String) {
        guard case .malformed = read([text])[0] else {
            Issue.record("\(text) was taken for a status line")
            return
        }
    }

    @Test("a second head may follow when the request is sent again, and needs a status line as well")
    func secondHead() {
        let reader = HeadReader()
        _ = ["HTTP/1.1 401 No", "A: 1", ""].map { events(of: line($0), in: reader) }
        #expect(!reader.isAwaitingHead)
        reader.expectHead()
        guard case .malformed = events(of: line("A: 1"), in: reader)[0] else {
            Issue.record("a field began a head")
            return
        }
    }

    @Test("interim heads come before the final one, and trailers are no fields")
    func interim() {
        let events = read(["HTTP/1.1 103 Early", "Link: x", "", "HTTP/1.1 200 OK", "A: 1", "", "Trailer: late"])
        guard case .informational(let early) = events[2], case .head(let final) = events[5] else {
            Issue.record("the heads did not come")
            return
        }
        #expect(early.status == 103 && early.value(of: "link") == "x")
        #expect(final.status == 200 && final.fields == [Field(name: "A", value: "1")])
    }

    @Test("a folded line belongs to the one before it (RFC 9112 §5.2)")
    func folded() {
        guard case .head(let head) = read(["HTTP/1.1 200 OK", "A: 1", "  two", ""]).last else {
            Issue.record("no head came")
            return
        }
        #expect(head.value(of: "A") == "1 two")
    }

    @Test("more bytes than the limit allows are too long, however they come")
    func tooLong() {
        let endless = Array(repeating: ["HTTP/1.1 103 Early", ""], count: 100).flatMap(\.self)
        #expect(refusal(in: read(endless, limit: 400)) == .headerBytes(limit: 400))
        #expect(refusal(in: read(endless, limit: 10_000)) == .interimResponses(limit: 20))
        let many = ["HTTP/1.1 200 OK"] + Array(repeating: "A: 1", count: 11)
        #expect(refusal(in: read(many)) == .headerFields(limit: 10))
        let trailers = ["HTTP/1.1 200 OK", ""] + Array(repeating: "A: 1", count: 11)
        #expect(refusal(in: read(trailers)) == .headerFields(limit: 10))
    }

    private func refusal(in events: [HeadReader.Event]) -> TransferRefusal? {
        events.lazy.compactMap { if case .exceeded(let refusal) = $0 { refusal } else { nil } }.first
    }

    @Test("fields of one name are joined, or told one by one; 8-bit bytes are text in any case")
    func values() {
        let head = ResponseHead(
            status: 200, fields: [Field(name: "Set-Cookie", value: "a=1"), Field(name: "set-cookie", value: "b=2")])
        #expect(head.value(of: "SET-COOKIE") == "a=1, b=2")
        #expect(head.values(of: "Set-Cookie") == ["a=1", "b=2"])
        #expect(head.contains("set-cookie") && !head.contains("set-cooki"))
        #expect(
            ResponseHead(status: 200, version: "", section: Array("A: ".utf8) + [0xFC, 0x0A]).value(of: "A") == "ü")
    }
}
