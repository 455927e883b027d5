// Endpoints with Basic authentication and with tokens.

import Foundation

/// The endpoints `/basic-auth/USER/PASSWORD`, `/hidden-basic-auth/USER/PASSWORD` and `/bearer`.
enum AuthenticationEndpoints {
    static func answer(_ name: String, _ rest: [String], _ request: ReceivedRequest) -> FixtureResponse? {
        switch name {
        case "basic-auth", "hidden-basic-auth":
            guard rest.count >= 2 else { return .status(404) }
            let expected = "Basic \(Data("\(rest[0]):\(rest[1])".utf8).base64EncodedString())"
            if request.field("Authorization") == expected { return .json(["authenticated": true, "user": rest[0]]) }
            guard name == "basic-auth" else { return .status(404) }
            return FixtureResponse(status: 401, fields: [("WWW-Authenticate", "Basic realm=\"fixture\"")])
        case "bearer":
            guard let value = request.field("Authorization"), value.hasPrefix("Bearer ") else {
                return FixtureResponse(status: 401, fields: [("WWW-Authenticate", "Bearer")])
            }
            return .json(["authenticated": true, "token": String(value.dropFirst(7))])
        default: return nil
        }
    }
}
