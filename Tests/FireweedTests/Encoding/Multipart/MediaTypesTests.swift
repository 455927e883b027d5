import Foundation
import Testing

@testable import Fireweed

@Suite("Media types of files")
struct MediaTypesTests {
    @Test("without Debian's table, the common ones are known")
    func builtIn() {
        let table = MediaTypes.table(with: nil)
        for (name, type) in [
            ("png", "image/png"), ("json", "application/json"), ("txt", "text/plain"), ("jpeg", "image/jpeg"),
        ] {
            #expect(table[name] == type)
        }
        #expect(table["cdx"] == nil)
    }

    @Test("a table in the format of mime.types goes over it")
    func overlay() {
        let table = MediaTypes.table(
            with: "# comment\n\nimage/x-mine\t\tpng PNX\napplication/none\r\n#text/no\ttxt\ntext/one one\ttwo  three\n")
        #expect(table["png"] == "image/x-mine" && table["pnx"] == "image/x-mine")
        #expect(table["txt"] == "text/plain")
        #expect(["one", "two", "three"].allSatisfy { table[$0] == "text/one" })
    }

    @Test(
        "Debian's table is read where it is installed",
        arguments: [("cdx", "chemical/x-cdx"), ("PNG", "image/png"), ("mkv", "video/x-matroska")])
    func installed(name: String, type: String) {
        #expect(MediaTypes.type(ofExtension: name) == type)
    }

    @Test("an unknown extension means bytes", arguments: ["", "nobody-knows-this"])
    func unknown(name: String) {
        #expect(MediaTypes.type(ofExtension: name) == "application/octet-stream")
    }
}
