import Fireweed
import Testing

@Suite("File names in Content-Disposition")
struct ContentDispositionTests {
    @Test(
        "Content-Disposition is read as RFC 6266 has it",
        arguments: [
            ("attachment; filename=\"a.txt\"", "a.txt"), ("attachment;filename=a.txt", "a.txt"),
            ("attachment ; FileName = a.txt ; x=y", "a.txt"), ("inline", nil), ("", nil),
            ("filename=\"a.txt\"", nil),  // the type comes first
            ("attachment; filename=\"a;b.txt\"", "a;b.txt"),  // a semicolon in quotes separates nothing
            ("attachment; x=\"; filename=no\"; filename=yes", "yes"),
            (#"attachment; filename="a \"b\" \\c""#, #"a "b" \c"#), ("attachment; filename=\"open", "open"),
            ("attachment; filename*=UTF-8''%C3%BC.txt; filename=\"x\"", "ü.txt"),
            ("attachment; filename=x; filename*=iso-8859-1'en'%A3", "£"),
            ("attachment; filename=x; filename*=utf-8''%FF", "x"),  // no UTF-8
            ("attachment; filename=x; filename*=utf-8''%2", "x"), ("attachment; filename=x; filename*=koi8-r''y", "x"),
            ("attachment; filename=first; filename=second", "first"),
            ("attachment;\u{301} filename=a", nil), ("attachment; filename=\"\u{301}a\"", "\u{301}a"),
        ] as [(String, String?)])
    func field(text: String, expected: String?) {
        #expect(ContentDisposition(text).fileName == expected)
    }

    @Test(
        "of a name its last part is kept, without what hides it or steers a terminal",
        arguments: [
            ("a.txt", "a.txt"), ("../../etc/passwd", "passwd"), ("a\\b\\c", "c"), ("a/", "a"), ("/", nil), ("", nil),
            (".hidden", "hidden"), ("..", nil), (". . a", "a"), (" a b ", "a b"), ("a\u{1B}[2Jb\u{7}", "a[2Jb"),
            ("a\u{9B}2Jb", "a2Jb"),  // C1 has a control sequence introducer, too
            ("a\u{202E}txt.exe", "atxt.exe"), ("a\u{2028}b", "ab"), ("a/\u{301}b", "\u{301}b"),
            (".\u{301}a", "\u{301}a"),
            (String(repeating: "ü", count: 300), String(repeating: "ü", count: 100)),  // bytes count, not characters
        ] as [(String, String?)])
    func name(text: String, expected: String?) {
        let name = SuggestedFileName.sanitised(text)
        #expect(name.map { Array($0.utf8) } == expected.map { Array($0.utf8) })
    }
}
