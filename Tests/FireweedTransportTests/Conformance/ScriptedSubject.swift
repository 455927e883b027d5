// The transport without a wire in the conformance suite, and the list of all subjects.

import FireweedTransport
import Foundation

/// `ScriptedTransport`.
struct ScriptedSubject: ConformanceSubject {
    let name = "script"
    let answersChallenges = false

    func makeTransport() -> any Transport {
        ScriptedTransport { message in
            Scenario(rawValue: String(message.url.dropFirst(Self.origin.count)))
                .map { Self.steps(of: $0, for: message) } ?? []
        }
    }

    private static let origin = "http://script.test/"

    func url(of scenario: Scenario) -> String { Self.origin + scenario.rawValue }

    func obstacle(to scenario: Scenario) -> String? {
        switch scenario {
        case .gzip: "scripts have content without codings"
        case .upload, .earlyAnswer, .cutAnswer: "scripts do not read the content of requests"
        case .trailers: "scripts have no trailers"
        case .fields: "the fields that a transport adds are not seen without a wire"
        case .reuse, .closesOnReuse: "there are no connections without a wire"
        default: nil
        }
    }

    private static func steps(of scenario: Scenario, for message: RequestMessage) -> [ScriptedTransport.Action] {
        let early = ScriptedTransport.Action.interim(ResponseHead(status: 103, fields: []))
        switch scenario {
        case .medium: return answer(ScenarioContent.medium)
        case .large: return answer(ScenarioContent.large)
        case .slow: return answer(ScenarioContent.slow, size: 1)
        // Longer than any test reads.
        case .endless: return answer(ScenarioContent.large) + [.stall]
        case .interim: return [early, early] + answer(ScenarioContent.small)
        case .noContent: return [.head(ResponseHead(status: 204, fields: []))]
        case .silent: return [.stall]
        case .headOnly: return [head(1000), .stall]
        case .stalled: return [head(1000), .content(ScenarioContent.small), .stall]
        case .cut: return [head(1000), .content(ScenarioContent.small), failure(.networkConnectionLost)]
        case .cutHead: return [failure(.networkConnectionLost)]
        case .refused: return [failure(.cannotConnectToHost)]
        case .unauthorized:
            let challenge = Field(name: "WWW-Authenticate", value: "Basic realm=\"fixture\"")
            return [.head(ResponseHead(status: 401, fields: [challenge]))]
        case .redirect:
            let location = Field(name: "Location", value: "/get")
            return [.head(ResponseHead(status: 302, fields: [location])), .content(ScenarioContent.small)]
        default: return message.method == "HEAD" ? [head(5)] : answer(ScenarioContent.small)
        }
    }

    private static func answer(_ content: Data, size: Int = 16 * 1024) -> [ScriptedTransport.Action] {
        let pieces = stride(from: 0, to: content.count, by: size)
            .map { ScriptedTransport.Action.content(content[$0..<min($0 + size, content.count)]) }
        return [head(content.count)] + pieces
    }

    private static func head(_ byteCount: Int) -> ScriptedTransport.Action {
        .head(ResponseHead(status: 200, fields: [Field(name: "Content-Length", value: "\(byteCount)")]))
    }

    private static func failure(_ code: URLError.Code) -> ScriptedTransport.Action {
        .failure(.exchange(code, detail: "a script's failure", engineCode: 0))
    }
}

/// The transports that the suite judges.
enum ConformanceSubjects {
    static let all: [any ConformanceSubject] = [
        ScriptedSubject(), EngineSubject(), GuardedEngineSubject(), HedgedEngineSubject(), EngineUnixSocketSubject(),
        EngineTLSSubject(),
        EngineHTTP2Subject(isSecure: false), EngineHTTP2Subject(isSecure: true),
    ]
}
