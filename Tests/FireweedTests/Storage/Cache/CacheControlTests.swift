import Foundation
import Testing

@testable import Fireweed

@Suite("Cache-Control parsing (RFC 9111 §5.2)")
struct CacheControlTests {
    @Test(
        "numbers: digits alone, and not without end",
        arguments: [
            ("max-age=0", 0.0), ("max-age=60", 60), ("MAX-AGE=60", 60), ("max-age=\"60\"", 60), ("max-age = 60", 0),
            ("max-age =60", 0),
            ("max-age= 60", 0), ("max-age =\"60\"", 0),
            ("max-age=6\\0", 0), ("max-age=\"6\\0\"", 60), ("max-age=2147483648", 2_147_483_648),
            ("max-age=2147483649", 2_147_483_648), ("max-age=99999999999999999999999", 2_147_483_648), ("max-age", 0),
            ("max-age=", 0), ("max-age=-5", 0), ("max-age=+5", 0), ("max-age=5s", 0), ("max-age=٥", 0),
            ("max-age=1, max-age=2", 1), ("max-age=\"60", 60), ("a=\"x\\\",max-age=1\", max-age=7", 7),
        ])
    func numbers(text: String, seconds: TimeInterval) {
        #expect(CacheControl(text).maxAge == seconds)
    }

    @Test("flags are read with and without arguments, among unknown directives")
    func flags() {
        let control = CacheControl(
            "no-store, No-Cache=\"a, b\", public, private=c, must-revalidate, must-understand, immutable, x, only-if-cached,,"
        )
        #expect(control.noStore && control.noCache && control.isPublic && control.isPrivate && control.mustRevalidate)
        #expect(control.mustUnderstand && control.isImmutable && control.onlyIfCached && control.maxAge == nil)
    }

    @Test(
        "what makes a cache more generous counts only when it is a number",
        arguments: [
            ("max-stale", CacheControl.Staleness.any), ("max-stale=5", .seconds(5)), ("max-stale=x", nil),
            ("max-stale=", nil), ("min-fresh=5", nil),
        ])
    func generosity(text: String, staleness: CacheControl.Staleness?) {
        #expect(CacheControl(text).maxStale == staleness)
        #expect(CacheControl("stale-if-error=x, stale-while-revalidate").staleIfError == nil)
        #expect(CacheControl("stale-if-error=7, stale-while-revalidate=8").staleWhileRevalidate == 8)
    }

    @Test("anything at all is read without harm")
    func anything() {
        var generator = SystemRandomNumberGenerator()
        let alphabet = Array("max-age=0123456789,\"\\ \t;-ä\u{0}")
        for _ in 0..<20_000 {
            let text = String(
                (0..<Int.random(in: 0..<30)).map { _ in alphabet.randomElement(using: &generator) ?? "x" })
            let control = CacheControl(text)
            #expect((control.maxAge ?? 0) >= 0, "\(text)")
        }
    }

    @Test(
        "keys: one spelling for one target (RFC 9110 §4.2.3)",
        arguments: [
            ("HTTP://Example.COM/a", "http://example.com/a"), ("http://example.com", "http://example.com/"),
            ("http://example.com:80/a", "http://example.com/a"), ("https://example.com:443", "https://example.com/"),
            ("https://example.com:80/", "https://example.com:80/"), ("http://example.com?q", "http://example.com/?q"),
            ("http://example.com/a#b", "http://example.com/a"), ("http://u:p@example.com/a", "http://example.com/a"),
            ("http://[::1]:8080/a?b=c#d", "http://[::1]:8080/a?b=c"),
            ("http://example.com/A%20b", "http://example.com/A%20b"), ("http://A.test./b", "http://a.test./b"),
            ("http://a.test.:8080/b", "http://a.test.:8080/b"), ("http://127.1/a", "http://127.0.0.1/a"),
            ("http://127.0.0.1:8080/a", "http://127.0.0.1:8080/a"), ("http://0x7f000001/a", "http://127.0.0.1/a"),
            ("http://[0:0::1]/a", "http://[::1]/a"), ("http://a.test:/b", "http://a.test/b"),
            ("http://1.a.test/b", "http://1.a.test/b"), ("http://a.test/b:80/", "http://a.test/b:80/"),
        ])
    func keys(text: String, key: String) throws {
        #expect(CacheKey.text(of: try #require(URL(string: text))) == key)
    }

    @Test("dates are written as they are read")
    func dates() {
        for seconds in stride(from: 0.0, to: 4_000_000_000, by: 1_234_567) {
            let date = Date(timeIntervalSince1970: seconds)
            #expect(HTTPDate.parse(HTTPDate.text(of: date)) == date)
        }
        #expect(HTTPDate.text(of: Date(timeIntervalSince1970: 784_111_777)) == "Sun, 06 Nov 1994 08:49:37 GMT")
    }

    @Test(
        "a stored head with a damaged date is no head", arguments: [11, 19, 27], [Double.infinity, .nan, -1e300, 1e300])
    func damagedDate(offset: Int, seconds: Double) {
        let head = StoredHead(
            response: ResponseHead(status: 200, fields: []), requestTime: Date(), responseTime: Date(),
            variant: ResponseVariant(names: [], selection: Data(), credentials: nil))
        var bytes = [UInt8](head.encoded)
        withUnsafeBytes(of: seconds.bitPattern.littleEndian) { bytes.replaceSubrange(offset..<(offset + 8), with: $0) }
        #expect(bytes.withUnsafeBytes { StoredHead(encoded: $0) } == nil)
    }

    @Test("a stored head that is cut anywhere is no head")
    func coding() {
        let head = StoredHead(
            response: ResponseHead(status: 200, fields: [Field(name: "A", value: "b")]), requestTime: Date(),
            responseTime: Date(), variant: ResponseVariant(names: ["a"], selection: Data([1]), credentials: nil))
        let bytes = head.encoded
        #expect(bytes.withUnsafeBytes { StoredHead(encoded: $0) }?.identifier == head.identifier)
        for count in 0..<bytes.count {
            #expect(bytes.prefix(count).withUnsafeBytes { StoredHead(encoded: $0) } == nil)
        }
    }
}
