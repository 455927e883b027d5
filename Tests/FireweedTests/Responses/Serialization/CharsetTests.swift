import Foundation
import Testing

@testable import Fireweed

@Suite("Charsets")
struct CharsetTests {
    @Test(
        "the C library decodes what Foundation does not have in every program",
        arguments: [
            ("iso-8859-2", [0xB1, 0xE6], "ąć"), ("iso-8859-3", [0xA1], "Ħ"), ("iso-8859-4", [0xA2], "ĸ"),
            ("iso-8859-5", [0xBF], "П"), ("iso-8859-6", [0xC7], "ا"), ("iso-8859-7", [0xE1], "α"),
            ("iso-8859-8", [0xE0], "א"), ("iso-8859-9", [0xFE], "ş"), ("iso-8859-10", [0xA2], "Ē"),
            ("iso-8859-11", [0xA1], "ก"), ("iso-8859-13", [0xE0], "ą"), ("iso-8859-14", [0xA1], "Ḃ"),
            ("iso-8859-15", [0xA4], "€"), ("iso-8859-16", [0xA1], "Ą"), ("windows-1250", [0x9C], "ś"),
            ("windows-1251", [0xCF, 0xF0], "Пр"), ("windows-1252", [0x80], "€"), ("windows-1253", [0xE1], "α"),
            ("windows-1254", [0xFE], "ş"), ("windows-1255", [0xE0], "א"), ("windows-1256", [0xC7], "ا"),
            ("windows-1257", [0xE0], "ą"), ("windows-1258", [0xFE], "₫"), ("windows-874", [0x80], "€"),
            ("ibm437", [0x81], "ü"), ("ibm850", [0x81], "ü"), ("ibm866", [0x8F], "П"), ("koi8-r", [0xD0], "п"),
            ("koi8-u", [0xA4], "є"), ("macintosh", [0x9F], "ü"), ("shift_jis", [0x93, 0xFA, 0x5C], "日\\"),
            ("windows-31j", [0x87, 0x40], "①"), ("euc-jp", [0xC6, 0xFC], "日"),
            ("iso-2022-jp", [0x1B, 0x24, 0x42, 0x46, 0x7C, 0x1B, 0x28, 0x42], "日"), ("gbk", [0xC4, 0xE3], "你"),
            ("gb2312", [0xC4, 0xE3], "你"), ("gb18030", [0x81, 0x30, 0x81, 0x30], "\u{80}"),
            ("big5", [0xA7, 0x41], "你"),
            ("big5-hkscs", [0xA7, 0x41], "你"), ("euc-kr", [0xB0, 0xA1], "가"),
            ("iso-2022-kr", [0x1B, 0x24, 0x29, 0x43, 0x0E, 0x30, 0x21, 0x0F], "가"),
        ] as [(String, [UInt8], String)])
    func charset(name: String, bytes: [UInt8], text: String) throws {
        let encoding = try #require(String.Encoding(charset: name))
        #expect(encoding.iconvName != nil)
        #expect(CharsetConverter.text(of: Data(bytes), in: encoding) == text)
        // Pieces of any length: the converter's buffer ends within characters.
        let long = CharsetConverter.text(of: Data((0..<20_000).flatMap { _ in bytes }), in: encoding)
        #expect(long == String(repeating: text, count: 20_000))
        #expect(CharsetConverter.text(of: Data(), in: encoding)?.isEmpty == true)
    }

    @Test(
        "bytes that are not text in the charset are an error, and not other text",
        arguments: [
            ("shift_jis", [0x93]), ("euc-jp", [0xC6]), ("gbk", [0xC4]), ("euc-kr", [0x41, 0xB0]),
            ("iso-8859-3", [0xA5]), ("iso-2022-jp", [0x1B, 0x24, 0x42, 0x46]),
        ] as [(String, [UInt8])])
    func noText(name: String, bytes: [UInt8]) throws {
        let encoding = try #require(String.Encoding(charset: name))
        #expect(CharsetConverter.text(of: Data(bytes), in: encoding) == nil)
    }

    @Test("Foundation decodes what every program has of it", arguments: ["utf-8", "us-ascii", "iso-8859-1"])
    func foundation(name: String) throws {
        let encoding = try #require(String.Encoding(charset: name))
        #expect(encoding.iconvName == nil)
        #expect(CharsetConverter.text(of: Data("a".utf8), in: encoding) == "a")
    }
}
