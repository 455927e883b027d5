// The requirements on a transport that is put through the conformance suite.

import FireweedTransport
import Testing

/// A transport, and the peer that it talks to in the conformance suite.
///
/// Another transport is put through the suite by a type that conforms, and by a row in `ConformanceSubjects.all`.
protocol ConformanceSubject: Sendable, CustomTestStringConvertible {
    /// The name in the results.
    var name: String { get }

    /// Whether the transport answers challenges with the credentials of a message.
    var answersChallenges: Bool { get }

    /// Makes a transport that shares no connection with another one.
    func makeTransport() throws -> any Transport

    /// The URL at which the peer plays a scenario.
    func url(of scenario: Scenario) throws -> String

    /// Why this subject cannot play a scenario; `nil` when it can.
    func obstacle(to scenario: Scenario) -> String?
}

extension ConformanceSubject {
    var testDescription: String { name }

    var answersChallenges: Bool { true }

    func obstacle(to scenario: Scenario) -> String? { nil }

    /// Cancels the present test case, with the reason, when this subject cannot play a scenario.
    func requires(_ scenarios: Scenario...) throws {
        for scenario in scenarios {
            if let obstacle = obstacle(to: scenario) {
                try Test.cancel("\(name) cannot play \"\(scenario)\": \(obstacle)")
            }
        }
    }
}

/// What a peer does with a request.
enum Scenario: String, CaseIterable, Sendable {
    /// Answers 200 with `ScenarioContent.small`, also to HEAD, and keeps the connection.
    case small
    /// Answers with `ScenarioContent.medium`.
    case medium
    /// Answers with `ScenarioContent.large`.
    case large
    /// Answers with `ScenarioContent.slow`, a byte at a time.
    case slow
    /// Answers with content that never ends, as fast as it is taken.
    case endless
    /// Sends two interim responses with status 103, and then answers as `small`.
    case interim
    /// Answers 204.
    case noContent
    /// Takes the request, and never answers.
    case silent
    /// Sends the head of a response, and nothing more.
    case headOnly
    /// Sends the head of a response and `ScenarioContent.small`, of content that is longer, and nothing more.
    case stalled
    /// Breaks off in the middle of the content.
    case cut
    /// Breaks off before the head of the response is complete.
    case cutHead
    /// Reads a request with the content `ScenarioContent.small`, and closes.
    case cutAnswer
    /// Takes no connection.
    case refused
    /// Answers with `ScenarioContent.medium`, in the content coding `gzip`.
    case gzip
    /// Reads the request's content, and answers with its length in decimal digits.
    case upload
    /// Answers with `ScenarioContent.small` when the head of a request has come, and does not wait for its content.
    case earlyAnswer
    /// Answers 401 with a challenge (Basic), unless the request has the credentials `user` and `secret`.
    case unauthorized
    /// Answers 302 with `ScenarioContent.small`.
    case redirect
    /// Answers with the fields of the request, one `name: value` in each line, names in lower case.
    case fields
    /// Answers as `small`, with the trailer field `Checksum: 42`.
    case trailers
    /// Keeps connections, so that the reports of transfers tell of reuse; answers as `small`.
    case reuse
    /// Answers the first request of a connection as `small`, reads the head of the second one, and closes.
    case closesOnReuse
    /// Opens a WebSocket.
    case webSocket
}

/// The contents of scenarios.
enum ScenarioContent {
    static let small = Bytes.text("hello")
    static let medium = Bytes.counted(20 * 1024)
    static let large = Bytes.counted(4 * 1024 * 1024)
    static let slow = Bytes.text("slow and steady")
}
