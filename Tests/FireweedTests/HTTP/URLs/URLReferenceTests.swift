import Foundation
import Testing

@testable import Fireweed

@Suite("URL references")
struct URLReferenceTests {
    private func resolve(_ reference: String, _ base: String = "http://a/b/c/d;p?q") throws -> String? {
        URLReference.resolve(reference, against: try #require(URL(string: base)))?.absoluteString
    }

    @Test(
        "the examples of RFC 3986 §5.4 resolve as it says",
        arguments: [
            ("g:h", "g:h"), ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"), ("//g", "http://g"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"),
            ("#s", "http://a/b/c/d;p?q#s"), ("g#s", "http://a/b/c/g#s"), ("g?y#s", "http://a/b/c/g?y#s"),
            (";x", "http://a/b/c/;x"), ("g;x", "http://a/b/c/g;x"), ("g;x?y#s", "http://a/b/c/g;x?y#s"),
            (".", "http://a/b/c/"), ("./", "http://a/b/c/"), ("..", "http://a/b/"), ("../", "http://a/b/"),
            ("../g", "http://a/b/g"), ("../..", "http://a/"), ("../../", "http://a/"), ("../../g", "http://a/g"),
            ("../../../g", "http://a/g"), ("../../../../g", "http://a/g"), ("/./g", "http://a/g"),
            ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"), ("g..", "http://a/b/c/g.."),
            ("..g", "http://a/b/c/..g"), ("./../g", "http://a/b/g"), ("./g/.", "http://a/b/c/g/"),
            ("g/./h", "http://a/b/c/g/h"), ("g/../h", "http://a/b/c/h"), ("g;x=1/./y", "http://a/b/c/g;x=1/y"),
            ("g;x=1/../y", "http://a/b/c/y"), ("g?y/./x", "http://a/b/c/g?y/./x"),
            ("g?y/../x", "http://a/b/c/g?y/../x"),
            ("g#s/./x", "http://a/b/c/g#s/./x"), ("g#s/../x", "http://a/b/c/g#s/../x"),
        ])
    func examples(reference: String, target: String) throws {
        #expect(try resolve(reference) == target)
    }

    @Test(
        "escapes are never escaped again, whatever stands beside them",
        arguments: [
            ("/search?filter[name]=a%20b", "http://a/search?filter%5Bname%5D=a%20b"),
            ("/[x]/%C3%BC", "http://a/%5Bx%5D/%C3%BC"), ("/a|b%2Fc", "http://a/a%7Cb%2Fc"),
            ("/100%?q=%20", "http://a/100%25?q=%20"), ("/%zz%41", "http://a/%25zz%41"), ("/%4", "http://a/%254"),
            ("/%41?%&%20", "http://a/%41?%25&%20"), ("/a b%20c", "http://a/a%20b%20c"), ("/ü%20", "http://a/%C3%BC%20"),
            ("#[%20", "http://a/b/c/d;p?q#%5B%20"), ("http://u[:p%40@a/%20^", "http://u%5B:p%40@a/%20%5E"),
        ])
    func escapes(reference: String, target: String) throws {
        #expect(try resolve(reference) == target)
    }

    @Test(
        "an authority is read as browsers read it, or refused",
        arguments: [
            ("http://b\\@a/", nil), ("http://b\\a/", nil), ("//b\\@c", nil), ("http://b%5Ca/", nil),
            ("http:\\\\b/", nil),
            ("http://b@c@d/", "http://b%40c@d/"), ("http://a b/", nil), ("http://a%20b/", nil), ("http://a%2Fb/", nil),
            ("http://%62/", "http://b/"), ("http://%zz/", nil),
            ("http://bücher.test/%20", "http://xn--bcher-kva.test/%20"),
            ("http://b%C3%BCcher.test/", "http://xn--bcher-kva.test/"), ("http://[::1]:80/x", "http://[::1]:80/x"),
            ("http://[::1/", nil), ("http://[::1]x/", nil), ("http://b:/x", "http://b/x"), ("http://b:x/", nil),
            ("http://b:99999/", nil), ("http://b:-1/", nil), ("HTTP://B/", "http://B/"),
        ] as [(String, String?)])
    func authorities(reference: String, target: String?) throws {
        #expect(try resolve(reference) == target)
    }

    @Test(
        "what names no host is refused for HTTP",
        arguments: [
            "", "   ", "http:", "http:x", "http:/x", "http://", "http:///x", "https:?q", "http://:80/", "http://u@/",
            "//",
        ])
    func nothing(reference: String) throws {
        #expect(try resolve(reference) == nil)
    }

    @Test(
        "what other schemes have is left to them",
        arguments: ["mailto:a@b", "file:///etc/passwd", "data:,x", "urn:a:b"])
    func others(reference: String) throws {
        #expect(try resolve(reference) == reference)
    }

    @Test(
        "of text that a caller gives, escapes are not escaped again",
        arguments: [
            ("http://a/search?filter[name]=a%20b", "http://a/search?filter%5Bname%5D=a%20b"),
            ("http://a/a b/%2F?q=%41#%20^", "http://a/a%20b/%2F?q=%41#%20%5E"), ("http://a/100%", "http://a/100%25"),
            ("http://a/ü%20", "http://a/%C3%BC%20"),
            ("http://bücher.test/ü?%20", "http://xn--bcher-kva.test/%C3%BC?%20"),
            ("http://u%40:p@a/[%20", "http://u%40:p@a/%5B%20"), ("/a b%20c", "/a%20b%20c"),
            ("http://a/%20?q=%2B", "http://a/%20?q=%2B"), ("http://a?q[]=%20", "http://a?q%5B%5D=%20"),
        ])
    func callersText(text: String, url: String) throws {
        #expect(try text.asURL().absoluteString == url)
    }

    @Test("white space around a reference is ignored, and so are control characters")
    func space() throws {
        #expect(try resolve(" \t/g\r\n ") == "http://a/g")
        #expect(try resolve("/g\u{0}") == "http://a/g")
        #expect(try resolve("/\u{A0}g") == "http://a/%C2%A0g")
    }
}
