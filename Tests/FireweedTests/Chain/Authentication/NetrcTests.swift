import Fireweed
import FixtureServer
import Foundation
import Glibc
import Testing

@Suite("Netrc")
struct NetrcTests {
    @Test("machines, the default, quotes, macros and comments are understood")
    func whole() throws {
        let netrc = try Netrc(
            """
            # a comment
            machine One.example login ada password "with \\"quotes\\" and spaces"
            machine two.example
              login bob   # after a value comes a keyword, or a comment
              password #nocomment
              account none port 99
            macdef init
            machine inside.example login not password read
            cd /pub

            machine three.example password p3
            default login anonymous password me@here
            machine late.example login never password reached
            """)
        #expect(netrc.entry(forHost: "ONE.example")?.login == "ada")
        #expect(netrc.entry(forHost: "one.example")?.password == #"with "quotes" and spaces"#)
        #expect(
            netrc.entry(forHost: "two.example")
                == Netrc.Entry(machine: "two.example", login: "bob", password: "#nocomment"))
        #expect(
            netrc.entry(forHost: "three.example") == Netrc.Entry(machine: "three.example", login: nil, password: "p3"))
        #expect(netrc.entry(forHost: "inside.example")?.login == "anonymous")
        #expect(netrc.entry(forHost: "late.example")?.login == "anonymous")
        #expect(netrc.entries.count == 5)
    }

    @Test("a machine is found by every spelling of its name", arguments: ["bücher.test", "xn--bcher-kva.test"])
    func spellings(machine: String) throws {
        let netrc = try Netrc("machine \(machine) login ada password p")
        for host in ["BÜCHER.test", "bücher.test", "XN--bcher-kva.test"] {
            #expect(netrc.entry(forHost: host)?.login == "ada", "\(host)")
        }
        #expect(netrc.entry(forHost: "bucher.test") == nil)
        #expect(netrc.entry(forHost: "bücher.test.") == nil, "another machine may have the complete name")
    }

    @Test("an entry shows its machine alone")
    func descriptions() throws {
        let netrc = try Netrc("machine a.test login ada password hidden")
        var dumped = ""
        dump(netrc, to: &dumped)
        for text in ["\(netrc)", String(reflecting: netrc), dumped] {
            #expect(!text.contains("hidden") && !text.contains("ada"), "\(text)")
        }
        #expect("\(netrc.entries)" == "[machine a.test]")
    }

    @Test(
        "odd but right files",
        arguments: [
            ("", 0), ("\n\n#\n", 0), ("machine\th\tlogin\tu\tpassword\tp", 1), ("machine h\r\nlogin u\r\n", 1),
            ("default", 1), ("machine h login \"\" password \"a\\nb\"", 1), ("macdef m\nrun for ever", 0),
            ("macdef m\nx\n\nmachine h", 1), ("# no line end", 0), ("machine \"h\"", 1),
        ])
    func odd(text: String, count: Int) throws {
        #expect(try Netrc(text).entries.count == count)
    }

    @Test(
        "what is not understood is an error that names the line and nothing of it",
        arguments: [
            ("machine", 1), ("login u", 1), ("machine h\nlogin", 2),
            ("machine h login \"open", 1), ("machine h login \"open\nx\"", 1),
        ])
    func broken(text: String, line: Int) {
        do {
            _ = try Netrc(text)
            Issue.record("understood")
        } catch NetrcError.syntax(let found) {
            #expect(found == line)
        } catch {
            Issue.record(error)
        }
    }

    @Test("a byte order mark and unknown words are skipped, as by curl")
    func unknownWords() throws {
        let netrc = try Netrc("\u{FEFF}machine h colour red login ada\nprotocol https\npassword p")
        #expect(netrc.entry(forHost: "h") == Netrc.Entry(machine: "h", login: "ada", password: "p"))
    }

    @Test("a file that is not there is an error that names it")
    func unreadable() {
        #expect(throws: NetrcError.self) { try Netrc(contentsOf: URL(fileURLWithPath: "/nowhere/netrc")) }
    }

    @Test("a pipe in place of the file is an error, which does not wait")
    func pipe() throws {
        let folder = try TemporaryFolder()
        #expect(mkfifo(folder.file("netrc").path, 0o600) == 0)
        #expect(throws: NetrcError.self) { try Netrc(contentsOf: folder.file("netrc")) }
    }

    @Test("whatever the characters, reading ends")
    func anything() {
        let words = [
            "machine", "login", "password", "default", "macdef", "\"", "\\", "#", "\n", "\n\n", " ", "x", "\r\n",
        ]
        for _ in 0..<2_000 {
            let text = (0..<Int.random(in: 0...30)).compactMap { _ in words.randomElement() }.joined(separator: " ")
            _ = try? Netrc(text)
        }
    }
}
