import Foundation
import Testing

@testable import Fireweed

@Suite("Dates in fields")
struct HTTPDateTests {
    @Test(
        "the three forms of RFC 9110 §5.6.7",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777.0),
            ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777),
            ("sun, 06 nov 1994 08:49:37 gmt", 784_111_777),  // RFC 9111 §4.2: without case
            ("SUNDAY, 06-NOV-94 08:49:37 GMT", 784_111_777), ("SUN NOV  6 08:49:37 1994", 784_111_777),
            ("Sun Nov 06 08:49:37 1994", 784_111_777),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Thu, 29 Feb 2024 23:59:60 GMT", 1_709_251_200),  // a leap second
            ("Tue, 19 Jan 2038 03:14:08 GMT", 2_147_483_648),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
        ])
    func forms(text: String, seconds: Double) {
        #expect(HTTPDate.parse(text)?.timeIntervalSince1970 == seconds)
    }

    @Test("every day of 500 years, judged by Foundation's calendar")
    func calendar() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(identifier: "GMT"))
        let names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        // A step of 13 days meets every day of every month, leap days of common and of century years too.
        for day in stride(from: -100_000, to: 100_000, by: 13) {
            let date = Date(timeIntervalSince1970: Double(day) * 86_400)
            let parts = calendar.dateComponents([.year, .month, .day], from: date)
            let (year, month, number) = (parts.year ?? 0, parts.month ?? 1, parts.day ?? 0)
            let text =
                String(format: "Mon, %02d ", number) + names[month - 1] + String(format: " %04d 00:00:00 GMT", year)
            #expect(HTTPDate.parse(text) == date, "\(text)")
        }
    }

    @Test(
        "two digits mean the year within 50 years of the present",
        arguments: [
            (2026, "94", 1994), (2026, "26", 2026), (2026, "75", 2075), (2026, "77", 1977), (1999, "05", 2005),
        ])
    func century(present: Int, digits: String, year: Int) throws {
        let now = Date(timeIntervalSince1970: Double(present - 1970) * 31_556_952 + 15_000_000)
        let date = try #require(HTTPDate.parse("Monday, 01-Jan-\(digits) 00:00:00 GMT", now: now))
        #expect(date == HTTPDate.parse("Mon, 01 Jan \(year) 00:00:00 GMT"))
    }

    @Test("a present that is no moment is no crash", arguments: [Double.infinity, -.infinity, .nan, 1e300, -1e300])
    func strangePresent(seconds: Double) {
        let now = Date(timeIntervalSince1970: seconds)
        #expect(HTTPDate.parse("Monday, 01-Jan-94 00:00:00 GMT", now: now) == nil)
        #expect(HTTPDate.parse(HTTPDate.text(of: now)) != nil)
    }

    @Test(
        "everything else is no date",
        arguments: [
            "", " ", "0", "tomorrow", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC",
            "Xxx, 06 Nov 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT",
            "Sun, 31 Nov 1994 08:49:37 GMT", "Tue, 29 Feb 2023 00:00:00 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 8:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 06 Nov 1994 08:49 GMT", "Sun, ٠٦ Nov 1994 08:49:37 GMT",
            "Sun, 06 Foo 1994 08:49:37 GMT", "Sunday, 06-Nov 08:49:37 GMT", "Sun Nov 99 08:49:37 1994",
            "Sun, -6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 99999999999999999999 08:49:37 GMT", "a b c d e f", "a b c d",
            "Sun,  06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37  GMT", "Sun, 06 Nov  1994 08:49:37 GMT",
            "Sun,\t06 Nov 1994 08:49:37 GMT", " Sun, 06 Nov 1994 08:49:37 GMT", "Sun Nov 6 08:49:37 1994",
            "Sun Nov  06 08:49:37 1994", "Sun Nov   6 08:49:37 1994", "Sunday,  06-Nov-94 08:49:37 GMT",
            "a b c d e", ", 06 Nov 1994 08:49:37 GMT",
        ])
    func refused(text: String) {
        #expect(HTTPDate.parse(text) == nil)
    }
}
