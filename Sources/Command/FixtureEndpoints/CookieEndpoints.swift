// Endpoints that set and show cookies.

import Foundation

/// The endpoints `/cookies`, `/cookies/set?name=value`, `/cookies/set/NAME/VALUE` and `/cookies/delete?name`.
enum CookieEndpoints {
    static func answer(_ name: String, _ rest: [String], _ request: ReceivedRequest) -> FixtureResponse? {
        guard name == "cookies" else { return nil }
        switch rest.first {
        case nil: return .json(["cookies": Dictionary(request.cookies.map { ($0.name, $0.value) }) { _, last in last }])
        case "set":
            let pairs = rest.count >= 3 ? [(name: rest[1], value: rest[2])] : request.query
            return back(pairs.map { ("Set-Cookie", "\($0.name)=\($0.value); Path=/") })
        case "delete": return back(request.query.map { ("Set-Cookie", "\($0.name)=; Max-Age=0; Path=/") })
        default: return nil
        }
    }

    private static func back(_ fields: [(name: String, value: String)]) -> FixtureResponse {
        guard !fields.contains(where: { $0.value.contains(where: \.isNewline) }) else { return .status(400) }
        return FixtureResponse(status: 302, fields: fields + [("Location", "/cookies")])
    }
}
