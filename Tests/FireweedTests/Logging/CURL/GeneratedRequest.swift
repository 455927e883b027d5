// Requests out of hostile characters.

import Fireweed
import FireweedTesting
import Foundation
import FoundationNetworking

/// A request that was made to break quoting, the same for the same seed.
struct GeneratedRequest {
    let request: URLRequest
    /// User and password, for a few.
    let credential: (user: String, password: String)?

    private static let methods = [
        "GET", "GET", "POST", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "X-CUSTOM", "M!#$%&'*+.^_`|~", "-x",
    ]
    private static let fieldNames = [
        "X-A", "X-!#$%&'*+.^_`|~", "Accept", "Content-Type", "Referer", "Expect-CT", "x-é",
    ]
    private static let bodies: [Data] = [
        Data("@/etc/hostname".utf8), Data("\u{0}".utf8), Data([0xFF, 0xFE, 0x00, 0x0A]),
        Data("--data\r\n\r\n--B--\r\n".utf8),
        Data("-n %s %% \\n \\101 \\\\".utf8), Data("$(echo no) `echo no` $HOME ${HOME} !! 'x' \"y\"\n".utf8),
        Data("\n\n".utf8),
        Data(repeating: 0x41, count: 150_000), Data("€ ".utf8) + Data(repeating: 0x0A, count: 5),
    ]

    init(_ generator: inout SeededGenerator, server: URL, number: Int) {
        let method = Self.methods.randomElement(using: &generator) ?? "GET"
        let hasBody = !["GET", "HEAD"].contains(method) && Bool.random(using: &generator)
        let isGuarded = Int.random(in: 0..<8, using: &generator) == 0
        // A request with a line break in its credentials is refused.
        let (user, password) = ("u" + generator.text(), generator.text())
        let isSendable = { (character: Character) in !character.isNewline && character != "\0" }
        credential = isGuarded ? (user.filter(isSendable), password.filter(isSendable)) : nil
        var request = URLRequest(url: Self.url(&generator, server, path: isGuarded ? "/guarded" : "/anything"))
        request.httpMethod = method
        request.headers.add(name: "X-Number", value: "\(number)")
        for name in Self.fieldNames.dropLast() where Int.random(in: 0..<3, using: &generator) == 0 {
            request.headers.add(name: name, value: Self.value(&generator))
        }
        if Int.random(in: 0..<4, using: &generator) == 0 {
            let cookies = ["a=b; c=\"d e\"", "plain", "@a=b", "x=$HOME!'; y=`z`", "=", "a=" + Self.value(&generator)]
            request.headers.add(name: "Cookie", value: cookies.randomElement(using: &generator) ?? "")
        }
        if hasBody {
            request.httpBody =
                Bool.random(using: &generator)
                ? Self.bodies.randomElement(using: &generator) : Data(generator.text(upTo: 40).utf8)
        }
        self.request = request
    }

    /// Anything that may stand in a field: no CR, LF or NUL, and no other control character, which the server refuses.
    private static func value(_ generator: inout SeededGenerator) -> String {
        generator.text(upTo: 20).unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F || $0 == "\t" }
            .reduce(into: "") { $0.unicodeScalars.append($1) }
            .trimmingCharacters(in: .whitespaces)
    }

    private static func url(_ generator: inout SeededGenerator, _ server: URL, path: String) -> URL {
        var text = server.absoluteString
        if Int.random(in: 0..<6, using: &generator) == 0 {
            text = text.replacing("://", with: "://us%3Aer:p%27a$s!@")
        }
        text += path
        if path == "/anything" {
            let tails = [
                "", "/a/../b/./c", "/%00%0A%22%27", "/it's!/$HOME", "/(x);y,z=@:&+", "/" + escaped(&generator),
            ]
            text += tails.randomElement(using: &generator) ?? ""
        }
        let queries = [
            "", "?a[]=1&b{x}=2", "?a=%5B1-3%5D&q='\"!$(x)`", "?$HOME;!!&*=~", "?" + escaped(&generator),
            "?a=b&&c#f'r!g",
        ]
        text += queries.randomElement(using: &generator) ?? ""
        return URL(string: text) ?? server.appendingPathComponent("anything")
    }

    private static func escaped(_ generator: inout SeededGenerator) -> String {
        generator.text().addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? ""
    }
}
