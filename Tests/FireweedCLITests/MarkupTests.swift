import Foundation
import Testing

@testable import FireweedCLI

@Suite("XML and HTML for people")
struct MarkupTests {
    private func formatted(_ text: String, isHTML: Bool = false, isColoured: Bool = false) -> String? {
        var appearance = Appearance()
        appearance.isColoured = isColoured
        appearance.indent = 2
        return MarkupFormatter(appearance: appearance, isHTML: isHTML).formatted(text)?.text
    }

    @Test(
        "elements are indented where white space means nothing, and text stays as it is",
        arguments: [
            ("<a><b>x</b><c/></a>", "<a>\n  <b>x</b>\n  <c/>\n</a>"),
            ("<a>\n<b> x\ny </b></a>\n", "<a>\n  <b> x\ny </b>\n</a>"),
            ("<a><b> </b><c>\n</c></a>", "<a>\n  <b> </b>\n  <c>\n</c>\n</a>"),
            ("<a xml:space=\"preserve\"> <b/> </a>", "<a xml:space=\"preserve\"> <b/> </a>"),
            ("<a>text <b>x</b></a>", "<a>text <b>x</b></a>"), ("<a></a>", "<a></a>"),
            (
                "<?xml version='1.0'?><!DOCTYPE a [<!ENTITY e \">\">]><a>&e;&lt;</a>",
                "<?xml version='1.0'?>\n<!DOCTYPE a [<!ENTITY e \">\">]>\n<a>&e;&lt;</a>"
            ),
            (
                "<a b='>'><!-- <x> --><c><![CDATA[<d>]]></c></a>",
                "<a b='>'>\n  <!-- <x> -->\n  <c><![CDATA[<d>]]></c>\n</a>"
            ),
        ])
    func layout(document: String, expected: String) {
        #expect(formatted(document) == expected)
    }

    @Test("HTML has void and verbatim elements, and tags that do not match leave it as it is")
    func html() {
        #expect(
            formatted("<BODY><br><pre> a\n <b>c</b></pre><script>if (a<b) {}</script></BODY>", isHTML: true)
                == "<BODY>\n  <br>\n  <pre> a\n <b>c</b></pre>\n  <script>if (a<b) {}</script>\n</BODY>")
        #expect(formatted("<ul><li>a<li>b</ul>", isHTML: true) == "<ul><li>a<li>b</ul>")
    }

    @Test("what is not markup, does not match or is nested too deep is left alone")
    func refused() {
        for text in ["text", "", "<a", "<a><b></a>", "a < b", "<a></b>"] { #expect(formatted(text) == nil, "\(text)") }
        let deep = String(repeating: "<a>", count: 600) + String(repeating: "</a>", count: 600)
        #expect(formatted(deep) == nil)
    }

    @Test("names, attributes and comments have colours, and without them nothing is lost")
    func colours() throws {
        let document = "<a b=\"c\" d=e><!--f--><g/></a>"
        let coloured = try #require(formatted(document, isColoured: true))
        let plain = coloured.replacing(/\u{1B}\[[0-9;]*m/, with: "")
        #expect(coloured.contains("\u{1B}[34ma\u{1B}[0m") && coloured.contains("\u{1B}[32m\"c\"\u{1B}[0m"))
        #expect(plain == formatted(document))
    }
}
