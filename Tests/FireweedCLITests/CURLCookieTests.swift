import FixtureServer
import Foundation
import Testing

@testable import FireweedCLI

@Suite("Cookies of curl commands", .timeLimit(.minutes(TestTimeouts.minutes)))
struct CURLCookieTests {
    let server: FixtureServer
    let folder: TemporaryFolder

    init() throws {
        server = try FixtureServer.start()
        folder = try TemporaryFolder()
    }

    /// Runs a curl command, and returns the `Cookie` field of its last message.
    private func sent(_ options: String, _ path: String = "/anything", _ own: [String] = []) throws -> String? {
        let text = "curl -s \(options) '\(server.url(path).absoluteString)'"
        let result = try Command.run(own + ["--from-curl", text], in: folder.url)
        #expect(result.code == 0, "\(result.code) \(result.errors)")
        return server.requests.last?.field("Cookie")
    }

    private func write(_ lines: [String], _ name: String) throws {
        try Data(lines.map { $0.replacing(" ", with: "\t") + "\n" }.joined().utf8).write(to: folder.file(name))
    }

    @Test("-c leaves a read-only jar alone, and keeps the mode of one that is there; a new one is the user's alone")
    func jarMode() throws {
        let manager = FileManager.default
        func mode(_ name: String) throws -> Int? {
            try manager.attributesOfItem(atPath: folder.file(name).path)[.posixPermissions] as? Int
        }
        for (name, mode) in [("shared", 0o660), ("kept", 0o444)] {
            try Data("# old\n".utf8).write(to: folder.file(name))
            try manager.setAttributes([.posixPermissions: mode], ofItemAtPath: folder.file(name).path)
        }
        _ = try sent("-c shared", "/cookies/set?a=1")
        _ = try sent("-c new", "/cookies/set?a=1")
        #expect(try mode("shared") == 0o660 && mode("new") == 0o600)
        #expect(try lines("shared").count == 1)
        let url = server.url("/cookies/set?a=1").absoluteString
        let refused = try Command.run(["--from-curl", "curl -s -c kept '\(url)'"], in: folder.url)
        #expect(refused.code == 1 && refused.errors.contains("kept cannot be written: the file is read-only"))
        #expect(try String(contentsOf: folder.file("kept"), encoding: .utf8) == "# old\n" && mode("kept") == 0o444)
    }

    /// The cookies of a file: the last two cells of each line, and the lines after the head.
    private func lines(_ name: String) throws -> [String] {
        String(decoding: try Data(contentsOf: folder.file(name)), as: UTF8.self).split(separator: "\n")
            .filter { !$0.hasPrefix("# ") }.map { String($0.replacing("\t", with: " ")) }
    }

    @Test("pairs of the command are sent after the jar's cookies, as they are, and change no jar")
    func pairs() throws {
        let kept = "127.0.0.1 FALSE / FALSE 0 foo bar"
        try write([kept], "jar")
        #expect(try sent("-b jar -b 'foo=new; q' -c out") == "foo=bar; foo=new; q")
        #expect(try lines("out") == [kept])
        #expect(try sent("-b jar -H 'Cookie: foo=bar' -c jar") == "foo=bar; foo=bar")
        #expect(try lines("jar") == [kept])
        // A cookie that the server sets is kept, though the command has sent the same one.
        #expect(try sent("-L -b a=1 -c set", "/cookies/set?a=1") == "a=1; a=1")
        #expect(try lines("set") == ["127.0.0.1 FALSE / FALSE 0 a 1"])
        #expect(try sent("-b jar -b a=1 -H 'Cookie: z=2'") == "foo=bar; z=2")
        #expect(try sent("-c ''") == nil)
    }

    @Test("of cookies with one name the last counts, in one file and in several")
    func duplicates() throws {
        try write(["127.0.0.1 FALSE / FALSE 0 sid old", "127.0.0.1 FALSE / FALSE 0 sid mid"], "a")
        try write(["127.0.0.1 FALSE / FALSE 0 sid new"], "b")
        #expect(try sent("-b a") == "sid=mid")
        #expect(try sent("-b a -b b -c out") == "sid=new")
        #expect(try lines("out") == ["127.0.0.1 FALSE / FALSE 0 sid new"])
    }

    @Test(
        "times of expiry are whole numbers of any size, and others are passed over",
        arguments: [
            ("9223372036854775807", "253402300799"), ("253402300800", "253402300799"), ("4102444800.75", "4102444800"),
            ("0", "0"), ("1e19", nil), ("inf", nil), ("-1", nil), ("99999999999999999999", nil), ("", nil),
        ] as [(String, String?)])
    func expiry(_ text: String, _ written: String?) throws {
        try write(["127.0.0.1 FALSE / FALSE \(text) sid x"], "jar")
        #expect(try sent("-b jar -c out") == (written == nil ? nil : "sid=x"))
        #expect(try lines("out") == (written.map { ["127.0.0.1 FALSE / FALSE \($0) sid x"] } ?? []))
    }

    @Test("bytes that are not UTF-8 go through a file as they are")
    func bytes() throws {
        let line = Data("127.0.0.1\tFALSE\t/\tFALSE\t0\tsid\t".utf8) + [0xFF, 0xFE, 0x78, 0x0A]
        try line.write(to: folder.file("jar"))
        for _ in 0..<2 {
            // The server shows bytes that are not UTF-8 as replacement characters.
            #expect(try sent("-b jar -c jar") == "sid=\u{FFFD}\u{FFFD}x")
        }
        #expect(try Data(contentsOf: folder.file("jar")).suffix(line.count) == line)
    }

    @Test("a Host of the command decides about cookies, as they are sent and as they are set")
    func hosts() throws {
        try write(["127.0.0.1 FALSE / FALSE 0 address 1", "foo.test FALSE / FALSE 0 name 1"], "jar")
        #expect(try sent("-b jar -H 'Host: foo.test:8080'") == "name=1")
        _ = try sent("-c out -H 'Host: foo.test'", "/cookies/set?a=1")
        #expect(try lines("out") == ["foo.test FALSE / FALSE 0 a 1"])
    }

    @Test("a session of ours has cookies for a curl command without any")
    func sessions() throws {
        _ = try sent("", "/cookies/set?a=1", ["--session", "./s"])
        #expect(try sent("", "/anything", ["--session", "./s"]) == "a=1")
        #expect(try sent("-b z=1", "/anything", ["--session", "./s"]) == "a=1; z=1")
    }
}
