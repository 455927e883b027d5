import CommandLanguage
import Fireweed
import Foundation
import Testing

@testable import FireweedCLI

@Suite("Items")
struct ItemTests {
    @Test(
        "each separator means what it says",
        arguments: [
            ("X-Token:abc", Item.Kind.header, "X-Token", "abc"), ("X-Token:", .removedHeader, "X-Token", ""),
            ("X-Token;", .emptyHeader, "X-Token", ""), ("q==a b", .query, "q", "a b"),
            ("name=Ada", .text, "name", "Ada"),
            ("age:=36", .json, "age", "36"), ("f@a.txt", .file, "f", "a.txt"),
            ("t=@a.txt", .textFromFile, "t", "a.txt"),
            ("j:=@a.json", .jsonFromFile, "j", "a.json"), ("empty=", .text, "empty", ""), ("a=b=c", .text, "a", "b=c"),
            ("a=x@y", .text, "a", "x@y"), ("time:12:30", .header, "time", "12:30"), (#"a\:b=c"#, .text, "a:b", "c"),
            (#"a\==b"#, .text, "a=", "b"), ("q==", .query, "q", ""), ("q==@f", .queryFromFile, "q", "f"),
            ("X-A:@f", .headerFromFile, "X-A", "f"), (#"a:="\\d\n""#, .json, "a", #""\\d\n""#),
            (#"p=C:\dir\x"#, .text, "p", #"C:\dir\x"#), (#"a=\@x"#, .text, "a", "@x"),
        ])
    func separators(word: String, kind: Item.Kind, name: String, value: String) throws {
        let item = try #require(Item(word))
        #expect(item.kind == kind)
        #expect(item.name == name)
        #expect(item.value == value)
    }

    @Test("what has no name or no separator is no item", arguments: ["word", "=x", ":x", "@x", ""])
    func none(word: String) {
        #expect(Item(word) == nil)
    }
}

@Suite("Command lines")
struct ArgumentParserTests {
    @Test(
        "short forms of URLs",
        arguments: [
            ("example.com/x", "https://example.com/x"), (":8080/x", "http://localhost:8080/x"),
            (":/x", "http://localhost/x"),
            ("localhost:3000", "http://localhost:3000"), ("127.0.0.1/x", "http://127.0.0.1/x"),
            ("http://h/", "http://h/"),
            (":8080/get?next=https://x.org/", "http://localhost:8080/get?next=https://x.org/"),
            ("h.example/?u=http://x", "https://h.example/?u=http://x"), ("HTTP://h/", "HTTP://h/"),
            ("://h.example", "https://h.example"), ("//h.example/x", "https://h.example/x"),
            ("user:p@localhost/x", "http://user:p@localhost/x"), ("[::1]:80/", "http://[::1]:80/"),
        ])
    func urls(text: String, expected: String) throws {
        #expect(try URLShorthand.expanded(text) == expected)
    }

    @Test(
        "an escape stays one beside characters that a URL may not contain",
        arguments: [
            (":80/x?f[n]=a%20b", "http://localhost:80/x?f%5Bn%5D=a%20b"), ("h.x/ä%20b", "https://h.x/%C3%A4%20b"),
            ("u:p@h.x/?q=100%25|d", "https://h.x/?q=100%25%7Cd"),
        ])
    func escapes(text: String, expected: String) throws {
        #expect(try URLShorthand.read(text, default: nil).url?.absoluteString == expected)
    }

    @Test(
        "the method is given, or follows from the content",
        arguments: [
            (["example.com"], "GET"), (["example.com", "a=b"], "POST"), (["example.com", "q==1"], "GET"),
            (["put", "example.com", "a=b"], "PUT"), (["--raw", "x", "example.com"], "POST"),
            (["X-CUSTOM", "h.example"], "X-CUSTOM"), (["myhost", "name=me@x.org"], "POST"),
            (["localhost", "a=b"], "POST"), (["get", "localhost:8080/x"], "GET"), (["delete", ":8080/x"], "DELETE"),
        ])
    func methods(words: [String], expected: String) throws {
        #expect(try ArgumentParser.parse(words).effectiveMethod == expected)
    }

    @Test(
        "what is wrong is said in one line",
        arguments: [
            ([], "a URL is missing"), (["--nope"], "no option --nope"),
            (["--timeout", "soon", "h.example"], "--timeout needs a number of seconds, or 0 for none, not \"soon\""),
            (["--print"], "needs a value"), (["h.example", "junk"], "not an item"),
            (["--raw", "x", "h.example", "a=b"], "cannot go together"),
            (["h.example", "f@x"], "--form"), (["http://"], "not a URL"),
            (["--print=xyz", "h.example"], "letters of H, B, h, b and m"),
            (["--json=1", "h.example"], "takes no value"),
            (["ftp://h.example"], "has the scheme ftp"), (["--ver"], "--ver could be --verbose, --verify, --version"),
            (["ws", "--har", "x", "h.example"], "--har does not go with fireweed ws"),
            (["--binary", "h.example"], "it is for fireweed ws"), (["status", "-v"], "-v does not go with"),
            (["--from-curl", "curl h", "--form"], "--form does not go with --from-curl"),
            (["--retry-delay", "1", "h.example"], "need --retry"),
            (["--any-status", "h.example"], "--any-status needs"),
            (["--expect", "status=200", "h.example"], "a fact such as"),
            (["--select", "a[", "h.example"], "a path such as"),
            (["--tls-min", "1.3", "--tls-max", "1.2", "h.example"], "older"), (["-vx"], "-x needs a value: URL"),
        ])
    func errors(words: [String], part: String) {
        let error = #expect(throws: UsageError.self) { try ArgumentParser.parse(words) }
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("\n") == false)
    }

    @Test("every option is in the help")
    func help() {
        for option in Option.all { #expect(Help.whole.contains(option.heading)) }
        #expect(Set(Option.all.flatMap(\.names)).count == Option.all.flatMap(\.names).count)
    }

    @Test("short options can be joined, values attached, long names cut short, and options taken back")
    func forms() throws {
        let joined = try ArgumentParser.parse(["-Ivofile", "--http1", "h.example"])
        #expect(joined.ignoresStandardInput && joined.isVerbose && joined.outputFile == "file")
        #expect(joined.httpVersion == .http1Only)
        #expect(try ArgumentParser.parse(["--print=", "h.example"]).print == "")
        #expect(try ArgumentParser.parse(["--raw=", "h.example"]).rawBody == "")
        let back = try ArgumentParser.parse(
            ["--no-cache", "-a", "u:p", "--no-auth", "h.example"], defaults: OptionReader.read(["--cache"]).options)
        #expect(!back.usesCache && back.authentication == nil)
        #expect(try ArgumentParser.parse(["--no-follow", "h.example"]).followsRedirects == false)
        #expect(try !ArgumentParser.parse(["--sorted", "--unsorted", "h.example"]).sortsOutput)
    }

    @Test(
        "an option of curl or HTTPie that is something else here gets a hint",
        arguments: [
            ("-H", "Name:value"), ("-X", "before the URL"), ("--data-raw", "--raw TEXT"), ("-L", "--no-follow"),
            ("-i", "--print hb"), ("--ignore-netrc", "--netrc"), ("--path-as-is", "always sent as it is typed"),
            ("--format-options", "--indent"), ("--bogus", "--help"), ("--fail", "--check-status"),
            ("--tcp-nodelay", "--from-curl"),
        ])
    func hints(name: String, hint: String) {
        let error = #expect(throws: UsageError.self) { try ArgumentParser.parse([name, "x", "h.example"]) }
        #expect(error?.message.hasPrefix("there is no option \(name); ") == true)
        #expect(error?.message.contains(hint) == true, "\(error?.message ?? "")")
    }

    @Test("no option of curl is read as the beginning of one of ours")
    func foreignNames() {
        for row in CURLRow.all {
            guard let option = try? Option.named("--\(row.name)") else { continue }
            #expect(option.names.contains("--\(row.name)"))
        }
    }

    @Test("a curl command that is not one word is told so, whatever options it has")
    func curlInPieces() {
        for arguments in [["curl", "-sS", "h.example"], ["--from-curl", "curl", "-s", "h.example"]] {
            let error = #expect(throws: UsageError.self) { try ArgumentParser.parse(arguments) }
            #expect(error?.message.contains("--from-curl has a curl command as one word, in quotes") == true)
        }
    }

    @Test("the help fits into 80 columns")
    func width() {
        for page in [Help.whole, Help.short, Help.text(of: "ws"), Help.text(of: "status"), Help.text(of: "serve")] {
            for line in page.split(separator: "\n") { #expect(line.count <= Help.width, "\(line)") }
        }
    }

    @Test("--default-scheme is the scheme of URLs that have none")
    func defaultScheme() throws {
        #expect(try ArgumentParser.parse(["--default-scheme", "http", "h.example"]).url == "http://h.example")
        #expect(try ArgumentParser.parse(["--default-scheme", "https", ":1/"]).url == "https://localhost:1/")
        #expect(try ArgumentParser.parse(["--default-scheme", "http", "https://h.example"]).url == "https://h.example")
        #expect(throws: UsageError.self) { try ArgumentParser.parse(["--default-scheme", "ftp", "h.example"]) }
    }

    @Test(
        "a URL that lacks a slash is an error that says so",
        arguments: [
            ("http:/h.example/x", "http://h.example/x"), ("HTTPS:/h.example", "HTTPS://h.example"),
            ("http:/u:secret@h.example/", "http://h.example/"),
        ])
    func missingSlash(url: String, meant: String) {
        let error = #expect(throws: UsageError.self) { try ArgumentParser.parse([url]) }
        #expect(error?.message.hasSuffix("lacks a slash; is \(meant) meant?") == true, "\(error?.message ?? "")")
    }

    @Test("-A is HTTPie's short name of --auth-type; for another word it says where a User-Agent goes")
    func authenticationType() throws {
        for type in Invocation.AuthenticationType.allCases {
            #expect(
                try ArgumentParser.parse(["-A", type.rawValue, "-a", "u:p", "h.example"]).authenticationType == type)
        }
        let error = #expect(throws: UsageError.self) { try ArgumentParser.parse(["-A", "Mozilla", "h.example"]) }
        #expect(error?.message.contains("User-Agent:value") == true)
    }

    @Test("--text takes --binary back")
    func text() throws {
        #expect(try ArgumentParser.parse(["ws", "--binary", "h.example"]).sendsBinary)
        #expect(try !ArgumentParser.parse(["ws", "--binary", "--text", "h.example"]).sendsBinary)
    }

    @Test("after -- nothing is an option")
    func doubleDash() throws {
        #expect(try ArgumentParser.parse(["--", "h.example"]).url == "https://h.example")
    }
}
