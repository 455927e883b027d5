// The fields of caching, dates among them, and stored heads.

import Fireweed
import FireweedTransport
import Foundation

extension FuzzTarget {
    static let httpDate = FuzzTarget("http-date", maximumByteCount: 256) { bytes in
        if let date = HTTPDate.parse(bytes.text, now: Samples.now) {
            try expect(date.timeIntervalSince1970 < 253_402_300_801, "a year has at most four digits")
            if date.timeIntervalSince1970 >= 0, date.timeIntervalSince1970 < 253_402_300_800 {
                try expectEqual(HTTPDate.parse(HTTPDate.text(of: date)), date, "a date survives being written")
            }
        }
        let seconds = bytes.prefix(5).reduce(Int64(0)) { $0 << 8 | Int64($1) } % 253_402_300_800
        let date = Date(timeIntervalSince1970: TimeInterval(seconds))
        try expectEqual(HTTPDate.parse(HTTPDate.text(of: date)), date, "every date can be written")
        try expectEqual(CookieDate.parse(HTTPDate.text(of: date)), date, "cookies read the same dates")
    }

    static let cacheControl = FuzzTarget("cache-control") { bytes in
        let text = bytes.text
        let control = CacheControl(text)
        try expectEqual(CacheControl(text.asciiUppercased), control, "directives have no case")
        for seconds in [control.maxAge, control.minFresh, control.staleIfError, control.staleWhileRevalidate] {
            guard let seconds else { continue }
            try expect((0...CacheControl.greatestDelta).contains(seconds), "a time is in its range")
        }
        var stricter = control
        (stricter.isPresent, stricter.noStore) = (true, true)
        try expectEqual(CacheControl("no-store," + text), stricter, "a directive before others changes nothing else")
        guard !text.hasByte("\"") else { return }
        try expectEqual(CacheControl("\(text),\(text)"), control, "of a directive that comes twice the first counts")
    }

    /// A field section, of which everything is asked that a cache asks.
    static let cacheFields = FuzzTarget("cache-fields") { bytes in
        let head = ResponseHead(status: 200, version: "HTTP/1.1", section: Array(bytes))
        let kept = StoringRules.storable(head, receivedAt: Samples.now)
        try expectEqual(
            StoringRules.storable(kept, receivedAt: Samples.now).section, kept.section, "what is stored stays as it is")
        try expect(kept.contains("Date"), "what is stored has a date")
        for name in StoringRules.connectionFields(of: head) where !name.isEmpty && name.asciiLowercased != "date" {
            try expect(!kept.contains(name), "fields of a connection are not stored")
        }
        for name in ResponseVariant.names(in: head) {
            try expect(!name.isEmpty && !name.hasByte(","), "Vary is a list of names")
            try expectEqual(name, name.lowercased(), "names in Vary are in lower case")
        }
        let stored = StoredHead(
            response: kept, requestTime: Samples.now, responseTime: Samples.now.addingTimeInterval(1),
            variant: ResponseVariant(names: [], selection: Data(), credentials: nil))
        let lifetime = Freshness.lifetime(of: stored, control: CacheControl(head.value(of: "Cache-Control")))
        try expect(lifetime.isFinite && lifetime >= 0, "a lifetime is a number of seconds")
        let announced = Freshness.announcedAge(of: head)
        try expect((0...CacheControl.greatestDelta).contains(announced), "an age is in its range")
        let age = Freshness.age(of: stored, at: Samples.now)
        try expect(age.isFinite && age >= announced, "nothing is younger than it says")
        try expect(Freshness.age(of: stored, at: Samples.now + 60) >= age, "nothing becomes younger")
        try expectEqual(StoredHead(encodedData: stored.encoded)?.encoded, stored.encoded, "a head survives a store")
    }

    static let storedHead = FuzzTarget("stored-head") { bytes in
        guard let head = StoredHead(encodedData: Data(bytes)) else { return }
        guard let again = StoredHead(encodedData: head.encoded) else {
            throw FuzzFailure(description: "a head that was read can be read again")
        }
        try expectEqual(again.response.section, head.response.section, "fields survive a store")
        try expectEqual(again.response.status, head.response.status, "the status survives a store")
        try expectEqual(again.variant.selection, head.variant.selection, "a variant survives a store")
        try expectEqual(again.variant.credentials, head.variant.credentials, "a variant survives a store")
        try expectEqual(again.userInfo, head.userInfo, "what a handler adds survives a store")
        _ = Freshness.age(of: head, at: Samples.now)
        _ = Freshness.lifetime(of: head, control: CacheControl(head.response.value(of: "Cache-Control")))
    }
}

extension StoredHead {
    fileprivate init?(encodedData data: Data) {
        guard let head = data.withUnsafeBytes({ StoredHead(encoded: $0) }) else { return nil }
        self = head
    }
}
