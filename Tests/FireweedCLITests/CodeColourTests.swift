import Foundation
import Testing

@testable import FireweedCLI

@Suite("Style sheets and programs for people")
struct CodeColourTests {
    /// The tokens that have colours, each as `part:text`, separated by spaces.
    private func coloured(_ program: String, _ language: CodeLanguage) -> String {
        let tokens = language.tokens(of: program)
        #expect(tokens.map(\.text).joined() == program)
        return tokens.compactMap { token in token.part.map { "\($0):\(token.text)" } }.joined(separator: " ")
    }

    @Test(
        "CSS has colours for selectors, properties and values",
        arguments: [
            ("a.b:hover > #c { color: #fff }", "key:a key:.b key:hover key:> key:#c fieldName:color literal:#fff"),
            ("p{margin:-1.5em 0!important}", "key:p fieldName:margin literal:-1.5em literal:0 keyword:!important"),
            ("@media (width > 3px){a{b:c}}", "keyword:@media key:width key:> literal:3px key:a fieldName:b"),
            ("/* { */ a { b: url(x;y) \"}\" }", "comment:/* { */ key:a fieldName:b string:x;y string:\"}\""),
            ("a{--x:1;b:var(--x)}", "key:a fieldName:--x literal:1 fieldName:b"), ("/* open", "comment:/* open"),
            ("@import 'a'", "keyword:@import string:'a'"),
        ])
    func css(sheet: String, expected: String) {
        #expect(coloured(sheet, .css) == expected)
    }

    @Test(
        "JavaScript has colours for keywords, strings, numbers and comments",
        arguments: [
            ("let a = 'b\\'c' // d", "keyword:let string:'b\\'c' comment:// d"),
            ("a.default + true", "literal:true"), ("x = a / b / c", ""), ("x = /a[/]b/gi.test(y)", "string:/a[/]b/gi"),
            ("return /x/", "keyword:return string:/x/"), ("(a) / 2 / 1", "literal:2 literal:1"),
            ("1e-5 + 0xFF - 1_000n", "literal:1e-5 literal:0xFF literal:1_000n"),
            ("`a${b + `c${1}`}d`", "string:`a string:`c literal:1 string:` string:d`"),
            ("`${{a: 1}}`", "string:` literal:1 string:`"), ("'open\nnull", "string:'open literal:null"),
            ("#!/usr/bin/node\nif", "comment:#!/usr/bin/node keyword:if"), ("/* a", "comment:/* a"),
            ("`a", "string:`a"),
        ])
    func javaScript(program: String, expected: String) {
        #expect(coloured(program, .javaScript) == expected)
    }

    @Test("no beginning of a program loses a character", arguments: [CodeLanguage.css, .javaScript])
    func pieces(language: CodeLanguage) {
        let program = """
            /* é */ @media x{a[b="c\\"]"]:not(.d\\.e)>f{g:url( "h" ) #i;--j:{k:l}}}\r\n$m: -.5%;
            `n${/o[/]\\/p/g}q${r`s`}`;'t\\\r\nu';v=/w\n/x;1.e+5;#y;z?.a;\u{1F600}</b>\\
            """
        let scalars = Array(program.unicodeScalars)
        for count in 0...scalars.count {
            let part = String(String.UnicodeScalarView(scalars.prefix(count)))
            #expect(language.tokens(of: part).map(\.text).joined() == part)
        }
    }

    @Test("lines that look like expressions without an end take no longer than others", .timeLimit(.minutes(1)))
    func longLine() {
        let line = String(repeating: "/[", count: 100_000)
        #expect(CodeLanguage.javaScript.tokens(of: line).map(\.text).joined() == line)
    }

    @Test("programs are coloured by their media type, keep their layout, and have it in HTML too")
    func content() {
        let text = MessageText(appearance: Appearance(isColoured: true))
        let type = "text/javascript; charset=utf-8"
        let program = "[1,\n null]"
        let shown = text.content(Data(program.utf8), type: type).text
        #expect(shown == "[\u{1B}[36m1\u{1B}[0m,\n \u{1B}[36mnull\u{1B}[0m]\n")
        let plain = MessageText(appearance: Appearance())
        #expect(plain.content(Data(program.utf8), type: type).text == program + "\n")
        #expect(text.needsWhole("text/css") && !plain.needsWhole("text/css"))
        let page = "<style>a{b:1}</style><script>var c</script><script type='application/json'>true</script>"
        let html = text.content(Data(page.utf8), type: "text/html").text
        #expect(html.contains("{\u{1B}[36mb\u{1B}[0m:\u{1B}[36m1\u{1B}[0m}"))
        #expect(html.contains("\u{1B}[35mvar\u{1B}[0m c") && html.contains(">true<"))
    }

    @Test("styles have names, and the error for another name lists them")
    func styles() throws {
        for style in ["standard", "light", "mono", "monokai", "solarized"] {
            #expect(try ArgumentParser.parse(["--style", style, "h"]).style.rawValue == style)
        }
        let error = #expect(throws: (any Error).self) { try ArgumentParser.parse(["--style", "pie", "h"]) }
        #expect("\(error.map { "\($0)" } ?? "")".contains("standard, light, mono, monokai or solarized"))
        #expect(ColourStyle.mono.code(.comment) == nil && ColourStyle.monokai.code(.keyword) == "38;5;81")
    }
}
