// Cookie rules as cases, and the stages that they are played on.

import Fireweed
import FixtureServer
import Foundation
import Testing

/// What responses set, and what a later request has to carry.
struct CookieCase: Sendable, CustomTestStringConvertible {
    /// The section of RFC 6265, or of its successor (`bis`).
    let section: String
    let rule: String
    /// Where responses come from and their `Set-Cookie` fields, in order.
    let responses: [(url: String, fields: [String])]
    /// The request that is looked at, and its `Cookie` field.
    let url: String
    let expected: String?

    init(
        _ section: String, _ rule: String, _ responses: [(String, [String])], to url: String, _ expected: String?
    ) {
        self.section = section
        self.rule = rule
        self.responses = responses.map { (url: $0.0, fields: $0.1) }
        self.url = url
        self.expected = expected
    }

    /// A case of one field from one place.
    init(_ section: String, _ rule: String, _ field: String, from source: String, to url: String, _ expected: String?) {
        self.init(section, rule, [(source, [field])], to: url, expected)
    }

    /// A case of one field, set and looked at in one place.
    init(_ section: String, _ rule: String, _ field: String, _ expected: String?) {
        self.init(section, rule, field, from: "http://www.example.com/d/p", to: "http://www.example.com/d/p", expected)
    }

    var testDescription: String { "§\(section): \(rule)" }

    /// True when every exchange of the case is in clear text.
    var isClear: Bool { (responses.map(\.url) + [url]).allSatisfy { $0.hasPrefix("http://") } }
}

/// Plays cases.
enum CookieStage {
    /// Gives the `Cookie` field of the last request over the wire.
    ///
    /// The server plays a proxy, so that any host can be named.
    static func overTheWire(_ played: CookieCase) async throws -> String? {
        let scripts: [[ScriptedServer.Action]] = (played.responses.map(\.fields) + [[]]).map { fields in
            let lines = fields.map { "Set-Cookie: \($0)\r\n" }.joined()
            return [.receiveHead, .send("HTTP/1.1 204 OK\r\n\(lines)Connection: close\r\n\r\n"), .close]
        }
        let server = try ScriptedServer.start(scripts: scripts)
        var options = TransportOptions()
        options.proxy = Proxy(host: "127.0.0.1", port: Int(server.port))
        let session = Session.isolated(transportOptions: options)
        for url in played.responses.map(\.url) + [played.url] {
            let response = await session.request(url).serializingData().response
            if let error = response.error { throw error }
        }
        let heads = server.events.events.compactMap { if case .head(_, let text) = $0 { text } else { nil } }
        let lines = heads.last?.split(separator: "\r\n") ?? []
        return lines.first { $0.lowercased().hasPrefix("cookie:") }.map { String($0.dropFirst("Cookie: ".count)) }
    }

    /// Without a wire, so that `https` needs no certificate.
    static func scripted(_ played: CookieCase) async throws -> String? {
        let step = ProtectedList<String?>()
        let fields = played.responses.map { response in
            response.fields.map { Field(name: "Set-Cookie", value: $0) }
        }
        let transport = ScriptedTransport { message in
            let number = step.all.count
            step.append(message.fields.value(of: "Cookie"))
            return [.head(ResponseHead(status: 204, fields: number < fields.count ? fields[number] : []))]
        }
        let session = Session(transport: transport, configuration: .af.ephemeral, eventMonitors: [])
        for url in played.responses.map(\.url) + [played.url] {
            let response = await session.request(url).serializingData().response
            if let error = response.error { throw error }
        }
        return step.all.last ?? nil
    }
}
