import Foundation
import Testing

@testable import FireweedCLI

@Suite("Output")
struct OutputTests {
    @Test(
        "JSON is indented, with keys in their order and numbers as they were written",
        arguments: [
            (
                #"{"b":1.50,"a":[1e5,true,null,{}],"c":"x\"y"}"#,
                "{\n    \"b\": 1.50,\n    \"a\": [\n        1e5,\n        true,\n        null,\n        {}\n    ],\n    \"c\": \"x\\\"y\"\n}"
            ),
            ("[]", "[]"), ("  42 ", "42"), (#""text""#, #""text""#),
        ])
    func json(text: String, expected: String) {
        #expect(JSONFormatter(appearance: Appearance()).formatted(text)?.text == expected)
    }

    @Test("what is no JSON is left alone", arguments: ["", "hello", "{", "[1,2", "{]", "\"open", "{\"a\":nope}"])
    func noJSON(text: String) {
        #expect(JSONFormatter(appearance: Appearance()).formatted(text) == nil)
    }

    @Test("deep nesting does not exhaust anything")
    func deep() {
        #expect(JSONFormatter(appearance: Appearance()).formatted(String(repeating: "[", count: 100_000)) == nil)
    }

    @Test(
        "the bar shows bytes, rate and time left, and never more than the terminal is wide",
        arguments: [
            (Int64(50), Int64(100), 1.0, "50%"), (100, 100, 2.0, "100%"), (0, 100, 0.0, "0%"),
            (1_048_576, -1, 1.0, "1.0 MiB"),
        ])
    func bar(completed: Int64, total: Int64, elapsed: Double, part: String) {
        for width in [10, 40, 80, 200] {
            let text = ProgressBar(completed: completed, total: total < 0 ? nil : total, elapsed: elapsed).text(
                width: width)
            #expect(text.count <= width)
            if width == 80 { #expect(text.contains(part)) }
        }
    }

    @Test("the waterfall has a line for each phase, each where it was")
    func waterfall() {
        let phases = [
            Waterfall.Phase(name: "DNS", start: 0, end: 0.5), Waterfall.Phase(name: "wait", start: 0.5, end: 1),
        ]
        let lines = Waterfall(phases: phases).text(width: 80).split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines[0].contains("500.0 ms") && lines[1].drop { $0 != " " }.contains("█"))
    }

    @Test("a server cannot steer the terminal")
    func controls() {
        let text = MessageText(appearance: Appearance()).content(Data("a\u{1B}[2Jb\u{7}".utf8), type: "text/plain")
        #expect(text == "a[2Jb\n")
    }
}
