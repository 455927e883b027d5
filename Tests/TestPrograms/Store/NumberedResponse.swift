// Stored responses that show by themselves whether they are whole.

import Fireweed
import Foundation

/// A response whose content can be checked: the number in its head makes size and bytes of its content.
enum NumberedResponse {
    static func key(_ number: Int) -> String { "http://probe.example/\(number % 40)" }

    /// The key of a response that one worker alone replaces.
    static func key(worker: Int, _ slot: Int) -> String { "http://probe.example/worker\(worker)/\(slot)" }

    static func size(_ number: Int) -> Int { 500 + number * 7919 % 90_000 }

    static func make(_ number: Int) -> StoredResponse {
        let head = ResponseHead(status: 200, fields: [Field(name: "X-Number", value: "\(number)")])
        let variant = ResponseVariant(names: [], selection: Data(), credentials: nil)
        return StoredResponse(
            head: StoredHead(response: head, requestTime: Date(), responseTime: Date(), variant: variant),
            content: Data(repeating: UInt8(truncatingIfNeeded: number), count: size(number)))
    }

    static func number(_ stored: StoredResponse) -> Int? {
        stored.head.response.value(of: "X-Number").flatMap { Int($0) }
    }

    /// True when head and content belong together, and nothing is missing.
    static func isWhole(_ stored: StoredResponse) -> Bool {
        guard let number = number(stored) else { return false }
        return stored.content == Data(repeating: UInt8(truncatingIfNeeded: number), count: size(number))
    }
}
