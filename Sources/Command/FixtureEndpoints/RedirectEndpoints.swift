// Endpoints that redirect.

import Foundation

/// The endpoints `/redirect/N`, `/relative-redirect/N`, `/absolute-redirect/N` and `/redirect-to`.
enum RedirectEndpoints {
    static func answer(_ name: String, _ rest: [String], _ request: ReceivedRequest) -> FixtureResponse? {
        switch name {
        case "redirect", "relative-redirect": return next(rest) { $0 == 0 ? "/get" : "/\(name)/\($0)" }
        case "absolute-redirect":
            let origin = "\(request.scheme)://\(request.field("Host") ?? "127.0.0.1")"
            return next(rest) { $0 == 0 ? "\(origin)/get" : "\(origin)/absolute-redirect/\($0)" }
        case "redirect-to":
            guard let url = request.parameter("url"), !url.contains(where: \.isNewline) else {
                return .json(["error": "no url"], status: 400)
            }
            let status = request.parameter("status_code").flatMap(Int.init) ?? 302
            guard (300...399).contains(status) else { return .json(["error": "no redirect's status"], status: 400) }
            return FixtureResponse(status: status, fields: [("Location", url)])
        default: return nil
        }
    }

    private static func next(_ rest: [String], location: (Int) -> String) -> FixtureResponse {
        guard let count = rest.first.flatMap(Int.init), (1...1000).contains(count) else {
            return .json(["error": "no number of redirects"], status: 400)
        }
        return FixtureResponse(status: 302, fields: [("Location", location(count - 1))])
    }
}
