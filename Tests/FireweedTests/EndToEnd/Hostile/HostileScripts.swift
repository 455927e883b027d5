import Fireweed
import FixtureServer
import Foundation

/// The scripts, by what they attack.
enum HostileScripts {
    static let all = endings + lengths + codings + fields + statuses + endless + bodies

    private static let ok = "HTTP/1.1 200 OK\r\n"
    private static let many = 1_000_000
    private static let long = String(repeating: "a", count: 1000)

    // MARK: Ends at every stage

    private static let endings: [HostileScript] = [
        HostileScript(name: "RST at once", steps: [.reset], outcome: .failure),
        HostileScript(name: "close at once", steps: [.close], outcome: .code(.networkConnectionLost)),
        .plays("RST after the request", .reset, then: .code(.networkConnectionLost)),
        .plays("close after the request", .close, then: .code(.networkConnectionLost)),
        .plays("RST in the status line", .send("HTTP/1.1 2"), .reset, then: .code(.networkConnectionLost)),
        .sends("close in the status line", "HTTP/1.1 2", then: .failure),
        .plays("RST in the fields", .send(ok + "A: b"), .reset, then: .code(.networkConnectionLost)),
        .sends("close in the fields", ok + "A: b\r\nC", then: .failure),
        .plays(
            "RST in the content", .send(ok + "Content-Length: 10\r\n\r\nabc"), .reset,
            then: .code(.networkConnectionLost)),
        .sends("close in the content", ok + "Content-Length: 10\r\n\r\nabc", then: .code(.networkConnectionLost)),
        .plays(
            "RST in a chunk", .send(ok + "Transfer-Encoding: chunked\r\n\r\nA\r\nabc"), .reset,
            then: .code(.networkConnectionLost)),
        .sends("close in a chunk", ok + "Transfer-Encoding: chunked\r\n\r\nA\r\nabc", then: .failure),
        .sends("close in a chunk's size", ok + "Transfer-Encoding: chunked\r\n\r\n1", then: .failure),
        .sends("close before the last chunk", ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", then: .failure),
        .plays("half-close before the response", .shutdownWrite, .hold, then: .code(.networkConnectionLost)),
        .plays(
            "half-close in the content", .send(ok + "Content-Length: 10\r\n\r\nabc"), .shutdownWrite, .hold,
            then: .code(.networkConnectionLost)),
        .plays("silence", .hold, then: .code(.timedOut)),
        .plays("one byte and silence", .send("H"), .hold, then: .code(.timedOut)),
        .plays("silence in the fields", .send(ok + "A: b\r\n"), .hold, then: .code(.timedOut)),
        .plays("silence in the content", .send(ok + "Content-Length: 10\r\n\r\nabc"), .hold, then: .code(.timedOut)),
        .plays(
            "silence after a chunk", .send(ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"), .hold,
            then: .code(.timedOut)),
    ]

    // MARK: Lengths, and the shapes of request smuggling

    private static func length(_ name: String, _ fields: String, then outcome: HostileScript.Outcome) -> HostileScript {
        .sends(name, ok + fields + "\r\n\r\nhello", then: outcome)
    }

    private static let lengths: [HostileScript] = [
        length("the same length twice", "Content-Length: 5\r\nContent-Length: 5", then: .content("hello")),
        length(
            "two lengths, the longer last", "Content-Length: 3\r\nContent-Length: 5", then: .code(.badServerResponse)),
        length(
            "two lengths, the shorter last", "Content-Length: 5\r\nContent-Length: 3", then: .code(.badServerResponse)),
        length("two lengths in a list", "Content-Length: 5, 3", then: .code(.badServerResponse)),
        length("a negative length", "Content-Length: -1", then: .code(.badServerResponse)),
        length("a length with a sign", "Content-Length: +5", then: .code(.badServerResponse)),
        length("a length and more", "Content-Length: 5x", then: .code(.badServerResponse)),
        length("a length in hexadecimal", "Content-Length: 0x5", then: .code(.badServerResponse)),
        length(
            "a length beyond all numbers", "Content-Length: 99999999999999999999999", then: .code(.badServerResponse)),
        length("an empty length", "Content-Length:", then: .code(.badServerResponse)),
        length("too short a length", "Content-Length: 3", then: .content("hel")),
        .sends(
            "a response behind the response",
            ok + "Content-Length: 5\r\n\r\nhello" + ok + "Content-Length: 6\r\n\r\npoison",
            then: .content("hello")),
        .sends(
            "chunks and a length",
            ok + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            // RFC 9112 §6.3: handled as an error.
            then: .code(.badServerResponse)),
        .sends(
            "a length and chunks",
            ok + "Transfer-Encoding: chunked\r\nContent-Length: 30\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            then: .code(.badServerResponse)),
        .sends(
            "chunks in HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            // RFC 9112 §6.1: the framing is faulty.
            then: .code(.badServerResponse)),
        .sends("no length at all", ok + "\r\nhello", then: .content("hello")),
    ]

    // MARK: Chunks and codings

    private static func chunks(_ name: String, _ text: String, then outcome: HostileScript.Outcome) -> HostileScript {
        .sends(name, ok + "Transfer-Encoding: chunked\r\n\r\n" + text, then: outcome)
    }

    private static let codings: [HostileScript] = [
        chunks("an invalid chunk size", "zz\r\nhello\r\n0\r\n\r\n", then: .failure),
        chunks("a negative chunk", "-5\r\nhello\r\n0\r\n\r\n", then: .failure),
        chunks("a chunk beyond all numbers", "FFFFFFFFFFFFFFFFFF\r\nhello", then: .failure),
        chunks("a huge chunk", "7FFFFFFFFFFFFFFF\r\nhello", then: .failure),
        chunks("more than the chunk's size", "3\r\nhello\r\n0\r\n\r\n", then: .failure),
        chunks("less than the chunk's size", "8\r\nhello\r\n0\r\n\r\n", then: .failure),
        chunks("no line end after a chunk", "5\r\nhello0\r\n\r\n", then: .failure),
        chunks("an empty chunk's size", "\r\nhello\r\n0\r\n\r\n", then: .failure),
        chunks("a chunk's extension", "5;a=b;c=\"d\"\r\nhello\r\n0\r\n\r\n", then: .content("hello")),
        chunks("trailers", "5\r\nhello\r\n0\r\nA: b\r\n\r\n", then: .content("hello")),
        chunks("a length among the trailers", "5\r\nhello\r\n0\r\nContent-Length: 1\r\n\r\n", then: .content("hello")),
        .sends(
            "chunked twice",
            ok + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            // RFC 9112 §7.1: chunked is the last coding, and comes once.
            then: .code(.badServerResponse)),
        .sends("an unknown transfer coding", ok + "Transfer-Encoding: x-own\r\n\r\nhello", then: .failure),
        .sends(
            "content that is no gzip", ok + "Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello",
            then: .code(.cannotDecodeContentData)),
        .sends(
            "an unknown content coding", ok + "Content-Encoding: x-own\r\nContent-Length: 5\r\n\r\nhello",
            then: .content("hello")),
        .sends(
            "an unknown content coding, chunked",
            ok + "Content-Encoding: gzip, X-Own\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            then: .content("hello")),
        .sends(
            "more content codings than sense",
            ok
                + "Content-Encoding: \(Array(repeating: "gzip", count: 50).joined(separator: ", "))\r\nContent-Length: 5\r\n\r\nhello",
            then: .code(.cannotDecodeContentData)),
    ]

    // MARK: Fields

    private static func field(_ name: String, _ line: String, then outcome: HostileScript.Outcome) -> HostileScript {
        .sends(name, ok + line + "\r\nContent-Length: 5\r\n\r\nhello", then: outcome)
    }

    private static let fields: [HostileScript] = [
        .sends("bare LF everywhere", "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", then: .content("hello")),
        // RFC 9112 §2.2: the element is invalid.
        field("a bare CR in a field", "A: b\rContent-Length: 1", then: .code(.badServerResponse)),
        // RFC 9112 §5.2: a user agent joins the lines; recipients that read folds in different ways were used to
        // smuggle fields.
        field("a folded field", "A: b\r\n  c", then: .content("hello")),
        field("a folded length", "B: x\r\n Content-Length: 1", then: .code(.badServerResponse)),
        field("a folded coding", "Transfer-Encoding:\r\n chunked", then: .code(.badServerResponse)),
        field("an empty fold", "A: b\r\n \r\n", then: .code(.badServerResponse)),
        .sends(
            "a fold before any field", ok + " A: b\r\nContent-Length: 5\r\n\r\nhello", then: .code(.badServerResponse)),
        .sends(
            "a long fold before any field", ok + "\t" + String(repeating: "a ", count: 20_000) + "\r\n\r\nhello",
            then: .code(.badServerResponse)),
        .sends(
            "content that looks like a head", ok + "Content-Length: 31\r\n\r\nHTTP/1.1 200 OK\r\n a: b\r\n\r\nhello",
            then: .content("HTTP/1.1 200 OK\r\n a: b\r\n\r\nhello")),
        // RFC 9112 §5.1: no white space is allowed there.
        field("white space before the colon", "A : b", then: .code(.badServerResponse)),
        field("no colon", "nonsense", then: .failure),
        // RFC 9110 §5.1: a name is a token.
        field("no name", ": b", then: .code(.badServerResponse)),
        field("a NUL in a value", "A: b\0c", then: .failure),
        field("a NUL in a name", "A\0B: c", then: .failure),
        .plays(
            "8-bit bytes in a value",
            .sendData(
                Data((ok + "A: ").utf8) + Data([0xFF, 0xFE, 0x80]) + Data("\r\nContent-Length: 5\r\n\r\nhello".utf8)),
            .close, then: .content("hello")),
        .plays(
            "8-bit bytes in a name",
            .sendData(Data(ok.utf8) + Data([0xC3, 0xBC]) + Data(": x\r\nContent-Length: 5\r\n\r\nhello".utf8)), .close,
            then: .code(.badServerResponse)),
        field("a cookie of 64 KiB", "Set-Cookie: a=\(String(repeating: "b", count: 65_536))", then: .content("hello")),
        field("an invalid cookie", "Set-Cookie: ;;;=;=", then: .content("hello")),
        field("an invalid content type", "Content-Type: ;;/;charset=\"", then: .content("hello")),
        .sends(
            "two Locations", "HTTP/1.1 302 Found\r\nLocation: http://\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n",
            then: .failure),
        .sends(
            "a Location of control characters",
            "HTTP/1.1 302 Found\r\nLocation: \u{1}\u{2}://\u{3}\r\nContent-Length: 0\r\n\r\n", then: .status(200)),
        .sends(
            "a redirect without a Location", "HTTP/1.1 302 Found\r\nContent-Length: 5\r\n\r\nhello",
            then: .content("hello")),
        .sends(
            "an invalid challenge", "HTTP/1.1 401 No\r\nWWW-Authenticate: ,,,\r\nContent-Length: 5\r\n\r\nhello",
            then: .status(401)),
        .sends(
            "a proxy's challenge from an origin",
            "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic\r\nContent-Length: 5\r\n\r\nhello", then: .status(407)),
    ]

    // MARK: Status lines

    private static func status(_ name: String, _ line: String, then outcome: HostileScript.Outcome) -> HostileScript {
        .sends(name, line + "\r\nContent-Length: 5\r\n\r\nhello", then: outcome)
    }

    private static let statuses: [HostileScript] = [
        .sends("HTTP/0.9", "hello, I am very old", then: .code(.badServerResponse)),
        .sends("binary nonsense", "\u{1}\u{2}\u{3}\u{4}\r\n\r\n", then: .code(.badServerResponse)),
        .plays("a TLS alert", .sendData(Data([0x15, 3, 1, 0, 2, 2, 40])), .close, then: .code(.badServerResponse)),
        .plays("HTTP/2 frames", .sendData(Data([0, 0, 0, 4, 0, 0, 0, 0, 0])), .close, then: .code(.badServerResponse)),
        status("no reason", "HTTP/1.1 200", then: .content("hello")),
        status("8-bit bytes in the reason", "HTTP/1.1 200 ÜÖ", then: .content("hello")),
        status("a status of two digits", "HTTP/1.1 99 OK", then: .failure),
        status("a status of four digits", "HTTP/1.1 2000 OK", then: .failure),
        status("a status that is a word", "HTTP/1.1 OK 200", then: .failure),
        // RFC 9110 §2.5: a higher minor version is read as the highest that is known.
        status("HTTP/1.2", "HTTP/1.2 200 OK", then: .content("hello")),
        status("HTTP/3 in clear text", "HTTP/3 200 OK", then: .failure),
        status("HTTP/9.9", "HTTP/9.9 200 OK", then: .failure),
        status("no version", "HTTP 200 OK", then: .failure),
        .sends(
            "an interim response unasked", "HTTP/1.1 100 Continue\r\n\r\n" + ok + "Content-Length: 5\r\n\r\nhello",
            then: .content("hello")),
        .sends(
            "switching protocols unasked",
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: own\r\nConnection: Upgrade\r\n\r\nhello", then: .failure),
        .sends("only an interim response", "HTTP/1.1 103 Early Hints\r\n\r\n", then: .failure),
        .sends(
            "content where there is none, 204", "HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\nhello", then: .content("")),
        .sends(
            "content where there is none, 304", "HTTP/1.1 304 No\r\nContent-Length: 5\r\n\r\nhello", then: .content("")),
    ]

    // MARK: Without end

    private static let endless: [HostileScript] = [
        .plays("an endless status line", .send("HTTP/1.1 200 "), .sendRepeatedly(long, count: many), then: .failure),
        .plays("an endless field", .send(ok + "A: "), .sendRepeatedly(long, count: many), then: .failure),
        .plays("an endless name", .send(ok), .sendRepeatedly(long, count: many), then: .failure),
        .plays(
            "endless long fields", .send(ok), .sendRepeatedly("A: \(long)\r\n", count: many),
            then: .refusal(.headerBytes(limit: 100_000))),
        .plays(
            "endless short fields", .send(ok), .sendRepeatedly("A: b\r\n", count: many),
            then: .refusal(.headerFields(limit: 1000))),
        .plays("endless empty lines", .sendRepeatedly("\r\n", count: many), then: .failure),
        .plays(
            "endless interim responses", .sendRepeatedly("HTTP/1.1 103 Early\r\n\r\n", count: many),
            then: .refusal(.interimResponses(limit: 100))),
        .plays(
            "endless continues", .sendRepeatedly("HTTP/1.1 100 Continue\r\n\r\n", count: many),
            then: .refusal(.interimResponses(limit: 100))),
        .plays(
            "endless content", .send(ok + "\r\n"), .sendRepeatedly(long, count: many),
            then: .refusal(.bodyBytes(limit: 1_000_000))),
        .plays(
            "endless chunks", .send(ok + "Transfer-Encoding: chunked\r\n\r\n"),
            .sendRepeatedly("5\r\nhello\r\n", count: many),
            then: .refusal(.bodyBytes(limit: 1_000_000))),
        .plays(
            "an endless chunk extension", .send(ok + "Transfer-Encoding: chunked\r\n\r\n5;a="),
            .sendRepeatedly(long, count: many),
            then: .refusal(.framingBytes(limit: 65_536))),
        .plays(
            "an endless chunk's size", .send(ok + "Transfer-Encoding: chunked\r\n\r\n"),
            .sendRepeatedly(String(repeating: "0", count: 1000), count: many), then: .failure),
        .plays(
            "endless trailers", .send(ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n"),
            .sendRepeatedly("A: b\r\n", count: many), then: .refusal(.headerFields(limit: 1000))),
        .plays(
            "an endless trailer", .send(ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nA: "),
            .sendRepeatedly(long, count: many), then: .failure),
    ]

    // MARK: Content

    private static let bodies: [HostileScript] = [
        .sends(
            "a redirect to itself", "HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n",
            then: .content("clean")),
        .plays(
            "a redirect with endless content", .send("HTTP/1.1 302 Found\r\nLocation: /next\r\n\r\n"),
            .sendRepeatedly(long, count: many),
            then: .content("clean")),
        .sends(
            "a redirect to a file", "HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n",
            then: .code(.unsupportedURL)),
        .sends(
            "a redirect to gopher", "HTTP/1.1 302 Found\r\nLocation: gopher://127.0.0.1:1/_x\r\n\r\n",
            then: .code(.unsupportedURL)),
        .plays(
            "gzip that stops short",
            .send(ok + "Content-Encoding: gzip\r\nContent-Length: 10\r\n\r\n"),
            .sendData(Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3])), .close, then: .code(.cannotDecodeContentData)),
    ]
}
