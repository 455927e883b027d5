// A row of the table that judges the cache: what the origin answers, what is asked, and who has to answer.

import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

/// One rule of an RFC as a play: the client asks one thing after the other, and the origin has so many answers and no
/// more.
struct CacheCase: Sendable, CustomTestStringConvertible {
    let section: String
    let rule: String
    let answers: [Answer]
    let asks: [Ask]
    /// True when the store has to keep several variants or several targets of one path, which `URLCache` cannot.
    var needsVariants = false

    init(_ section: String, _ rule: String, _ answers: [Answer], _ asks: [Ask], needsVariants: Bool = false) {
        self.section = section
        self.rule = rule
        self.answers = answers
        self.asks = asks
        self.needsVariants = needsVariants
    }

    var testDescription: String { "§\(section): \(rule)" }

    /// When each play begins: the date of the injected clock.
    static let start = Date(timeIntervalSince1970: 1_762_000_000)

    /// A date so many seconds after the start, as fields hold it.
    static func date(_ offset: TimeInterval, _ format: String = "EEE, dd MMM yyyy HH:mm:ss 'GMT'") -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = format
        return formatter.string(from: start.addingTimeInterval(offset))
    }
}

/// What the origin sends when it is asked the next time.
struct Answer: Sendable {
    let text: String

    init(_ status: Int, _ fields: [String] = [], _ content: String = "", omitsContent: Bool = false) {
        let length = omitsContent || status == 304 || status == 204 ? [] : ["Content-Length: \(content.utf8.count)"]
        let lines = ["HTTP/1.1 \(status) Status"] + fields + length + ["Connection: close", "", ""]
        text = lines.joined(separator: "\r\n") + (omitsContent ? "" : content)
    }

    /// A 200.
    static func ok(_ content: String, _ fields: String...) -> Answer { Answer(200, fields, content) }
    /// A 304.
    static func notModified(_ fields: String...) -> Answer { Answer(304, fields) }
    /// A 200 to HEAD.
    static func head(_ fields: String...) -> Answer { Answer(200, fields, omitsContent: true) }

    /// Bytes as they are.
    static func raw(_ text: String) -> Answer { Answer(text: text) }

    private init(text: String) {
        self.text = text
    }
}

/// What is asked, and what has to come of it.
struct Ask: Sendable {
    enum Outcome: Sendable, Equatable {
        case answer(TaskMetrics.ResponseSource, status: Int, content: String)
        case failure(URLError.Code)
    }

    var outcome: Outcome
    /// Seconds that pass before it is asked.
    var after: TimeInterval = 0
    var method = "GET"
    var fields: [String: String] = [:]
    var path = "/"
    var policy = URLRequest.CachePolicy.useProtocolCachePolicy
    /// Fields that the origin has to see, and names that it must not see.
    var sends: [String] = []
    var omits: [String] = []
    /// Fields that the response has to have; a value of `nil` stands for none.
    var shows: [String: String?] = [:]
    /// True when it is asked again and again until this comes, since it depends on something behind an earlier answer.
    var isEventual = false

    /// The origin answers.
    static func network(
        _ content: String, after: TimeInterval = 0, _ fields: [String: String] = [:], method: String = "GET",
        status: Int = 200, path: String = "/", sends: [String] = [], omits: [String] = [],
        shows: [String: String?] = [:]
    ) -> Ask {
        Ask(
            outcome: .answer(.network, status: status, content: content), after: after, method: method, fields: fields,
            path: path, sends: sends, omits: omits, shows: shows)
    }

    /// The cache answers, and the origin does not be told of it.
    static func cache(
        _ content: String, after: TimeInterval = 0, _ fields: [String: String] = [:], method: String = "GET",
        status: Int = 200, path: String = "/", shows: [String: String?] = [:]
    ) -> Ask {
        Ask(
            outcome: .answer(.cache, status: status, content: content), after: after, method: method, fields: fields,
            path: path, shows: shows)
    }

    /// Nothing is sent, and the answer is 504.
    static func notSent(after: TimeInterval = 0, _ fields: [String: String]) -> Ask {
        Ask(
            outcome: .answer(.notSent, status: 504, content: ""), after: after, fields: fields, shows: ["Age": nil])
    }

    /// The cache answers, after the origin confirmed that with a 304.
    static func validated(
        _ content: String, after: TimeInterval = 0, _ fields: [String: String] = [:], method: String = "GET",
        status: Int = 200, sends: [String] = [], omits: [String] = [], shows: [String: String?] = [:]
    ) -> Ask {
        Ask(
            outcome: .answer(.revalidation, status: status, content: content), after: after, method: method,
            fields: fields, sends: sends, omits: omits, shows: shows)
    }

    /// The cache answers after a while with what it has learnt behind an earlier answer.
    static func eventually(_ content: String) -> Ask {
        var ask = Ask.cache(content, ["Cache-Control": "only-if-cached"])
        ask.isEventual = true
        return ask
    }

    /// With another policy.
    func with(_ policy: URLRequest.CachePolicy) -> Ask {
        var ask = self
        ask.policy = policy
        return ask
    }

    /// The request fails.
    static func fails(
        _ code: URLError.Code, after: TimeInterval = 0, policy: URLRequest.CachePolicy = .useProtocolCachePolicy
    ) -> Ask {
        Ask(outcome: .failure(code), after: after, policy: policy)
    }
}
