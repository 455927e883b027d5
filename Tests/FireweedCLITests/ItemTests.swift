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
            (#"a\==b"#, .text, "a=", "b"), ("q==", .query, "q", ""),
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
        ])
    func urls(text: String, expected: String) throws {
        #expect(try URLShorthand.expanded(text) == expected)
    }

    @Test(
        "the method is given, or follows from the content",
        arguments: [
            (["example.com"], "GET"), (["example.com", "a=b"], "POST"), (["example.com", "q==1"], "GET"),
            (["put", "example.com", "a=b"], "PUT"), (["--raw", "x", "example.com"], "POST"),
            (["X-CUSTOM", "h.example"], "X-CUSTOM"),
        ])
    func methods(words: [String], expected: String) throws {
        #expect(try ArgumentParser.parse(words).effectiveMethod == expected)
    }

    @Test(
        "what is wrong is said in one line",
        arguments: [
            ([], "a URL is missing"), (["--nope"], "no option --nope"),
            (["--timeout", "soon", "h.example"], "no SECONDS"),
            (["--print"], "needs a value"), (["h.example", "junk"], "no item"),
            (["--raw", "x", "h.example", "a=b"], "cannot go together"),
            (["h.example", "f@x"], "--form"), (["http://"], "no URL"), (["--print=xyz", "h.example"], "no WHAT"),
            (["--json=1", "h.example"], "takes no value"),
        ])
    func errors(words: [String], part: String) {
        let error = #expect(throws: UsageError.self) { try ArgumentParser.parse(words) }
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("\n") == false)
    }

    @Test("every option is in the help")
    func help() {
        for option in Option.all { #expect(Help.text.contains(option.heading)) }
    }

    @Test("after -- nothing is an option")
    func doubleDash() throws {
        #expect(try ArgumentParser.parse(["--", "h.example"]).url == "https://h.example")
    }
}
