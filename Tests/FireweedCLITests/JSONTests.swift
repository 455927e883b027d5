import CommandLanguage
import Foundation
import Testing

@testable import FireweedCLI

@Suite("JSON of the command")
struct JSONTests {
    @Test(
        "only JSON is read, and every number of it",
        arguments: [
            "null", "1e400", "-0.5E+2", "[]", "{}", #"{"a":[1,{"b":"\u00e9\n"}]}"#, " [ 1 , 2 ] ",
            "123456789012345678901234567890", #""\ud83d\ude00""#,
        ])
    func valid(text: String) throws {
        let node = try JSONReader.read(text)
        #expect(try JSONReader.read(node.text) == node)
        #expect(
            (try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)) != nil
                || text == "1e400")
    }

    @Test(
        "what is not JSON is refused, with the place",
        arguments: [
            ("[1,]", 3), ("", 0), ("{\"a\" 1}", 5), ("01", 1), ("1.", 2), ("+1", 0), ("nul", 0), ("\"\u{1}\"", 1),
            ("\"a", 2), (#""\x""#, 2), ("[1 2]", 3), ("{a:1}", 1), ("1 2", 2), ("NaN", 0), ("'a'", 0),
            (#""\u12"#, 3),
        ])
    func invalid(text: String, offset: Int) {
        let error = #expect(throws: JSONReadingError.self) { try JSONReader.read(text) }
        #expect(error?.offset == offset)
    }

    @Test("deep nesting is refused, and does not exhaust anything")
    func deep() {
        #expect(throws: JSONReadingError.self) { try JSONReader.read(String(repeating: "[", count: 1_000_000)) }
    }

    @Test(
        "values that follow one another are read one by one",
        arguments: [("{\"a\":1}\n{\"a\":2}\n", 2), ("1\n\n2\n3", 3), ("1 2", 0), ("{}{}", 0), ("", 0)])
    func sequence(text: String, count: Int) {
        #expect((JSONReader.sequence(text) ?? []).count == count)
    }

    @Test(
        "nested names make the value that they say",
        arguments: [
            (["a=1", "a=2"], #"{"a": "2"}"#), (["a[b][c]=x", "a[b][d]:=1"], #"{"a": {"b": {"c": "x", "d": 1}}}"#),
            (["a[]=1", "a[]:=2"], #"{"a": ["1", 2]}"#), (["a[2]=x"], #"{"a": [null, null, "x"]}"#),
            (["[0][x]:=2", "[]=y"], #"[{"x": 2}, "y"]"#), ([#"a\[b\]=1"#], #"{"a[b]": "1"}"#),
            ([#"a[\1]=x"#], #"{"a": {"1": "x"}}"#), ([#"a:={"b": 1}"#, "a[c]=2"], #"{"a": {"b": 1, "c": "2"}}"#),
            (["a:=1e400"], #"{"a": 1e400}"#), (["a:=null", "a[b]=1"], ""), (["a[]:=[1,2]"], #"{"a": [[1, 2]]}"#),
            (["t=a\"b\\c\nd"], #"{"t": "a\"b\\c\nd"}"#), (["x\"y=1"], #"{"x\"y": "1"}"#),
        ])
    func nested(words: [String], expected: String) throws {
        let plan = { try RequestPlan(try ArgumentParser.parse(["h.example"] + words)) }
        guard !expected.isEmpty else {
            #expect(throws: UsageError.self) { try plan() }
            return
        }
        guard case .data(let data, _) = try plan().content else { return #expect(Bool(false)) }
        #expect(String(decoding: data, as: UTF8.self) == expected)
    }

    @Test(
        "a nested name that is wrong is shown with the place",
        arguments: [
            (["a[b=1"], "a[b\n   ^^"), (["a[-1]=x"], "^^^^"), (["a=1", "a[b]=2"], "is a string already"),
            (["a[]=1", "a[b]=2"], "is an array already"), (["a[0]x=1"], "\"[\" is expected"),
            (["a[99999999]=1"], "at most"),
            (["a" + String(repeating: "[]", count: 60_000) + "=1"], "more than 512 brackets"),
        ])
    func wrongNames(words: [String], part: String) throws {
        let error = #expect(throws: UsageError.self) {
            try RequestPlan(try ArgumentParser.parse(["h.example"] + words))
        }
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
    }

    private static let document =
        #"{"items":[{"id":7,"name":"a\"b"},{"id":8,"name":"c"}],"a b":{"x":true},"big":9007199254740992,"nil":null,"t":["a b",1.0]}"#

    @Test(
        "a path selects values",
        arguments: [
            (".items[0].id", ["7"]), ("items[].name", ["a\"b", "c"]), ("items[-1].id", ["8"]),
            (#"."a b".x"#, ["true"]), (#"["a b"].x"#, ["true"]), (".items[0]", [#"{"id": 7, "name": "a\"b"}"#]),
            (".items[2]", nil), (".nothing", nil), (".items.id", nil), ("[0]", nil),
        ] as [(String, [String]?)])
    func paths(path: String, expected: [String]?) throws {
        let root = try JSONReader.read(Self.document)
        #expect(try #require(ValuePath(path)).values(in: root)?.map(\.plainText) == expected)
    }

    @Test("what is not a path is refused", arguments: ["a[", "a[x]", "a..b", "a.", "[0]b", "\"a"])
    func wrongPaths(path: String) { #expect(ValuePath(path) == nil) }

    @Test(
        "expectations hold or say what was found",
        arguments: [
            ("status==200", nil), ("status==2xx", nil), ("status!=404", nil), ("status<400", nil),
            ("status==201", "the status is 200"), ("header.content-type~=json", nil), ("header.x==1", "no field x"),
            ("json.items[0].id==7", nil), ("json.items[0].id==7.0", nil), ("json.items[0].id>7", "it is 7"),
            ("json.items[1].name==c", nil), (#"json.items[1].name=="c""#, nil), ("json.nope==1", "nothing at .nope"),
            ("body~=items", nil), ("body==x", "it is {"), ("time<1", nil), ("time>1", "it took 0.500 s"),
            (#"json["a b"].x==true"#, nil), ("json.items[].id>6", nil), ("time<5s", nil),
            ("time<400ms", "it took 0.500 s"), ("header.content-length<100", nil),
            ("header.content-length>100", "it is 24"), ("json.big==9007199254740993", "it is 9007199254740992"),
            ("json.items[0].id==7.0000000000000000001", "it is 7"),
            (#"json.items[1]=={"name":"c", "id":8.0}"#, nil), (#"json.items[1]!={"name":"c","id":8}"#, "it is {"),
            (#"json.items[1]=={"id":8,"name":"c","x":1}"#, "it is {"), (#"json.items[1]=={"id":8}"#, "it is {"),
            (#"json.items==[{"id":7,"name":"a\u0022b"},{"id":8,"name":"c"}]"#, nil), ("json.items==[]", "it is ["),
            ("json.items!=[]", nil), ("json.items==x", "it is ["), (#"json["a b"]~=true"#, nil),
            ("json.nil>0", "it is null"), ("json.nil<0", "it is null"), ("json.items>0", "it is ["),
            ("json.items[0]>0", "it is {"), ("json.items[1].name>=100", #"it is "c""#), ("json.items[1].name>b", nil),
            (#"json.items~={"name":"c","id":8}"#, nil), ("json.items~=c", "it is ["), (#"json.t~="a b""#, nil),
            ("json.t~=a b", nil), ("json.t~=1", nil), ("json.t~=2", "it is ["), ("json.items[1].name~=c", nil),
            (#"json.items[1].name~="c""#, nil), (#"header.etag=="v1""#, nil), (#"header.etag!="v1""#, "it is"),
            (#"header.etag=="\"v1\"""#, nil), (#"header.etag~=v"#, nil), ("header.etag>5", "it is"),
            ("status!=2XX", "the status is 200"), ("status==2XX", nil), ("status~=20", nil),
            ("header.x-m==b", nil), ("header.x-m!=b", "it is a, b"), ("header.x-m!=c", nil),
        ] as [(String, String?)])
    func expectations(text: String, failure: String?) throws {
        let facts = Expectation.CheckedResponse(
            status: 200,
            fields: { name in
                let fields = [
                    "content-type": ["application/json"], "content-length": ["24"], "x-m": ["a", "b"],
                    "etag": [#""v1""#],
                ]
                return fields[name.lowercased()] ?? []
            }, text: Self.document, seconds: 0.5)
        let found = try #require(Expectation(text)).failure(facts)
        if let failure { #expect(found?.contains(failure) == true, "\(found ?? "")") } else { #expect(found == nil) }
    }

    @Test(
        "expectations of lines of JSON hold when they hold for every line",
        arguments: [
            ("json.a<3", nil), ("json.a==1", "it is 1, 2"), ("json.b==1", "nothing at .b"), ("json.b!=1", "it is 1"),
            ("json.b!=2", nil), ("json.c!=2", nil), ("json.c[].x!=2", nil),
        ]
            as [(String, String?)])
    func expectationsOfLines(text: String, failure: String?) throws {
        let facts = Expectation.CheckedResponse(
            status: 200, fields: { _ in [] }, text: "{\"a\": 1}\n{\"a\": 2, \"b\": 1}\n", seconds: 0)
        let found = try #require(Expectation(text)).failure(facts)
        if let failure { #expect(found?.contains(failure) == true, "\(found ?? "")") } else { #expect(found == nil) }
    }

    @Test(
        "expectations of times and orders of status codes need numbers",
        arguments: ["time<abc", "time==5x", "time<", "status<4xx", "status>=ok", "status==ok", "status=="])
    func wrongExpectations(text: String) { #expect(Expectation(text) == nil) }

    @Test("files of items have parameters, unless a file has them in its name")
    func fileReferences() {
        let plain = FileReference("a.txt;type=text/x;filename=b", exists: { $0 == "a.txt" })
        #expect(plain.path == "a.txt" && plain.type == "text/x" && plain.fileName == "b")
        let odd = FileReference("a;type=x", exists: { $0 == "a;type=x" })
        #expect(odd.path == "a;type=x" && odd.type == nil)
    }

    @Test("colours without a new layout leave the text as it is")
    func colours() {
        let text = JSONFormatter(appearance: Appearance(isColoured: true, isFormatted: false)).formatted(
            #"{"a" :[1, 2]}"#)
        let plain = text?.text.replacing(/\u{1B}\[[0-9]*m/, with: "")
        #expect(plain == #"{"a" :[1, 2]}"# && text?.text.contains("\u{1B}[34m\"a\"") == true)
        let mono = JSONFormatter(appearance: Appearance(isColoured: true, style: .mono)).formatted("[1]")
        #expect(mono?.text == "[\n    1\n]")
        let sorted = JSONFormatter(appearance: Appearance(isSorted: true, indent: 1)).formatted(#"{"b":1,"a":2}"#)
        #expect(sorted?.text == "{\n \"a\": 2,\n \"b\": 1\n}")
        #expect(JSONFormatter(appearance: Appearance()).formatted("{}\n{}")?.text == "{}\n{}")
    }

    @Test("a format of --write-out is filled, for both streams, and at a failure alone")
    func writeOut() {
        var out = WriteOut(
            values: [("http_code", .literal("200")), ("url", .string("h"))],
            fields: [("X", "a"), ("y", "c"), ("x", "b")])
        #expect(out.text(#"%{http_code}\t%{url} %header{x} %%{url}\n"#).output == "200\th a, b %{url}\n")
        #expect(out.text("%{json}").output == #"{"http_code": 200, "url": "h"}"#)
        let empty = WriteOut(values: [("errormsg", .string("")), ("local_ip", .string(""))], fields: [])
        #expect(empty.text("%{json}").output == #"{"errormsg": null, "local_ip": ""}"#)
        #expect(empty.text("<%{errormsg}>").output == "<>")
        #expect(out.text("%{header_json}").output == #"{"x": ["a", "b"], "y": ["c"]}"#)
        #expect(out.text("1%{stderr}2%{stdout}3") == WriteOut.Text(output: "13", errors: "2"))
        #expect(out.text("1%{onerror}2").output == "1")
        out.isFailure = true
        #expect(out.text("1%{onerror}2").output == "12")
    }

    @Test("a variable that --write-out does not know is named")
    func unknownVariable() throws {
        #expect(WriteOut.unknownName(in: "%{http_code} %{nope}") == "nope")
        for name in WriteOut.names + ["json", "header_json", "stdout", "stderr", "onerror"] {
            #expect(WriteOut.unknownName(in: "%{\(name)}") == nil)
        }
        let error = #expect(throws: UsageError.self) { try ArgumentParser.parse(["-w", "%{nope}", "h.example"]) }
        #expect(error?.message.hasPrefix("%{nope} of --write-out is not known; there are ") == true)
    }

    @Test(
        "text is read in its character set, and what is not a character is replaced",
        arguments: [
            ([0xE9, 0x41], "iso-8859-1", "éA"), ([0x82, 0xA0], "shift_jis", "あ"),
            ([0x61, 0xFF, 0x62], "utf-8", "a\u{FFFD}b"),
            ([0xFF, 0xFE, 0x41, 0x00], "utf-16", "A"), ([0x80], "latin1", "€"),
            ([0xE2, 0x82], "utf-8", "\u{FFFD}\u{FFFD}"),
        ] as [([UInt8], String, String)])
    func charsets(bytes: [UInt8], name: String, expected: String) throws {
        let whole = try #require(CharacterSetDecoder(name))
        #expect(whole.append(bytes) + whole.finish() == expected)
        let pieces = try #require(CharacterSetDecoder(name))
        #expect(bytes.map { pieces.append([$0]) }.joined() + pieces.finish() == expected)
        #expect(CharacterSetDecoder("no-such-set") == nil && CharacterSetDecoder("utf-8//IGNORE") == nil)
    }

    @Test(
        "a line of the configuration file is an option with its value, or a comment",
        arguments: [
            ("# mine", []), ("--style light", ["--style", "light"]), ("", []), ("  --no-follow", ["--no-follow"]),
            ("--auth 'u:p q'", ["--auth", "u:p q"]), ("--x=1 ", ["--x=1"]), ("GET", ["GET"]),
            ("--timeout 20 # slow", ["--timeout", "20"]), ("--check-status # all", ["--check-status"]),
            ("--auth 'u:p # q' # mine", ["--auth", "u:p # q"]), ("--raw it's#1 #2", ["--raw", "it's#1"]),
            ("--check-status  # all", ["--check-status"]), ("--timeout=20\t\t# slow", ["--timeout=20"]),
            ("--x #", ["--x"]), ("--auth=\"u:p #q\" # mine", ["--auth=\"u:p", "#q\""]),
        ])
    func configuration(line: String, expected: [String]) {
        #expect(ConfigurationFile.words(of: line) == expected)
    }

    @Test("--resolve takes addresses of both families, with a port or without")
    func rules() {
        #expect(AddressRule("h.example:443:127.0.0.1")?.port == 443)
        #expect(AddressRule("h.example:127.0.0.1,::1")?.addresses == ["127.0.0.1", "::1"])
        #expect(AddressRule("h.example:80:[::1]")?.addresses == ["::1"] && AddressRule("h.example:::1")?.port == nil)
        #expect(AddressRule("h.example") == nil && AddressRule("h.example:80") == nil && AddressRule(":80:::1") == nil)
    }

    @Test(
        "what status is asked about",
        arguments: [
            ("h.example", "h.example", nil, false), ("localhost:8080", "localhost", 8080, false),
            ("https://h.example/x", "h.example", 443, true), ("http://[::1]:81", "::1", 81, false),
            ("::1", "::1", nil, false), ("h.example:443", "h.example", 443, true), ("[::1]:80", "::1", 80, false),
            ("wss://u@h.example", "h.example", 443, true), (":8080", "localhost", 8080, false),
            (":8080/path", "localhost", 8080, false), (":", "", -1, false), ("http://:80", "", 80, false),
        ] as [(String, String, Int?, Bool)])
    func targets(text: String, host: String, port: Int?, isSecure: Bool) {
        let target = StatusTarget(text)
        #expect(target.host == host && target.port == port && target.isSecure == isSecure)
    }
}
