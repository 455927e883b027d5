import Fireweed
import Foundation
import Testing

@Suite("Fields of rate limits")
struct RateLimitFieldTests {
    private func quota(_ limit: String, policy: String) -> RateLimitFields.Quota? {
        RateLimitFields(status: 200, now: Date()) { ["RateLimit": limit, "RateLimit-Policy": policy][$0] }.quota
    }

    @Test("the window of a policy is found by its name, the first of several")
    func windows() {
        let policy = "\"a\";q=9;w=60, \"b\";q=5;w=10, \"b\";q=5;w=20"
        #expect(quota("\"b\";r=1", policy: policy)?.seconds == 10)
        #expect(quota("\"a\";r=1", policy: policy)?.seconds == 60)
        #expect(quota("\"c\";r=1", policy: policy) == nil)
    }

    @Test("fields of more than 8 KiB are not looked at")
    func long() {
        let members = String(repeating: "a;r=1;t=5,", count: 819)
        #expect(quota(members, policy: "") != nil)
        #expect(quota(members + members, policy: "") == nil)
        #expect(quota("a;r=1", policy: "a;w=5," + String(repeating: "b,", count: 4000)) != nil)
        #expect(quota("a;r=1", policy: "a;w=5," + String(repeating: "b,", count: 5000)) == nil)
    }
}
