// Fields of responses, one by one.

import Fireweed
import FireweedTransport
import Foundation
import FoundationNetworking

extension FuzzTarget {
    static let mediaType = FuzzTarget("media-type", maximumByteCount: 512) { bytes in
        guard let type = MIMEType(bytes.text) else { return }
        try expect(!type.type.isEmpty && !type.subtype.isEmpty, "a media type has two parts")
        try expect(!type.type.hasByte("/") && !type.type.hasByte(";"), "a type ends at the slash")
        try expect(!type.subtype.hasByte(";"), "a subtype ends at a semicolon")
        let again = MIMEType("\(type.type)/\(type.subtype)")
        try expect(again?.type == type.type && again?.subtype == type.subtype, "a media type survives being written")
        try expect(type.matches(type), "a media type matches itself")
        try expect(MIMEType("*/*")?.matches(type) == true, "everything matches a wildcard")
        if let charset = type.charset { try expectEqual(charset, charset.lowercased(), "charsets have no case") }
    }

    static let retryAfter = FuzzTarget("retry-after", maximumByteCount: 512) { bytes in
        guard let seconds = RetryAfter.seconds(in: bytes.text, now: Samples.now) else { return }
        try expect(seconds >= 0, "nobody waits for the past")
    }

    static let contentRange = FuzzTarget("content-range", maximumByteCount: 256) { bytes in
        guard let range = ContentRange(bytes.text) else { return }
        try expect(range.bounds.map { $0.lowerBound >= 0 } ?? (range.completeByteCount != nil), "something is said")
        if let bounds = range.bounds, let complete = range.completeByteCount {
            try expect(bounds.upperBound < complete, "a part lies inside the whole")
        }
        let bounds = range.bounds.map { "\($0.lowerBound)-\($0.upperBound)" } ?? "*"
        let complete = range.completeByteCount.map(String.init) ?? "*"
        try expectEqual(ContentRange("bytes \(bounds)/\(complete)"), range, "a range survives being written")
    }

    static let strictTransport = FuzzTarget("strict-transport", maximumByteCount: 512) { bytes in
        guard let field = StrictTransportField(bytes.text) else { return }
        try expect(field.maxAge >= 0, "a time is not negative")
        let text = "max-age=\(field.maxAge)\(field.includesSubdomains ? "; includeSubDomains" : "")"
        try expectEqual(StrictTransportField(text), field, "a policy survives being written")
        let upper = StrictTransportField(bytes.text.asciiUppercased)
        try expectEqual(upper, field, "directives have no case")
    }

    static let challenges = FuzzTarget("challenges") { bytes in
        let challenges = HTTPChallenge.all(in: bytes.text)
        try expect(challenges.count <= 64, "a line has so many challenges at most")
        for challenge in challenges {
            for name in [challenge.scheme] + challenge.parameters.keys {
                try expect(name.isToken && name == name.lowercased(), "names are tokens in lower case")
            }
        }
        let texts = challenges.map { challenge in
            let parameters = challenge.parameters.sorted { $0.key < $1.key }.map { name, value in
                let escaped = value.unicodeScalars.map { "\"\\".unicodeScalars.contains($0) ? "\\\($0)" : "\($0)" }
                return "\(name)=\"\(escaped.joined())\""
            }
            let token = challenge.token.map { " \($0)\(parameters.isEmpty ? "" : ",")" } ?? ""
            return "\(challenge.scheme)\(token) \(parameters.joined(separator: ", "))"
        }
        let again = HTTPChallenge.all(in: texts.joined(separator: ", "))
        try expectEqual(again, challenges, "challenges survive being written")
    }

    /// The URL that redirects, and the field.
    static let location = FuzzTarget("location", maximumByteCount: 1024) { bytes in
        let lines = bytes.textLines
        let base = lines.first.flatMap { URL(string: $0) }.flatMap { $0.host == nil ? nil : $0 } ?? Samples.url
        guard let target = RedirectRules.target(of: lines.dropFirst().joined(separator: "\n"), from: base) else {
            return
        }
        let text = target.absoluteString
        try expect(text.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "a target can stand on the wire")
        let scheme = target.scheme ?? ""
        try expectEqual(scheme, scheme.lowercased(), "schemes have no case")
        if scheme == "http" || scheme == "https" {
            try expect(target.host?.isEmpty == false, "a target of HTTP has a host")
            try expect(target.host?.hasByte("\\") == false, "a backslash is no part of a host")
            let again = RedirectRules.target(of: "\(text)[", from: base)?.absoluteString
            try expect(again?.hasPrefix(text) ?? true, "an escape is never escaped again")
            try expectEqual(RedirectRules.target(of: text, from: base), target, "a target leads to itself")
            try expect(RedirectRules.isSameOrigin(target, target), "a target is of its own origin")
        }
    }

    static let traceContext = FuzzTarget("trace-context", maximumByteCount: 768) { bytes in
        let lines = bytes.textLines
        guard let context = TraceContext(traceparent: lines[0], tracestate: lines.dropFirst().first) else { return }
        try expectEqual(context.traceparent.utf8.count, 55, "a field has its length")
        try expect(context.state.map { !$0.hasControls && $0.utf8.count <= 512 } ?? true, "a state can be passed on")
        let again = TraceContext(traceparent: context.traceparent, tracestate: context.state)
        try expect(again?.traceID == context.traceID && again?.spanID == context.spanID, "a context can be passed on")
        try expectEqual(again?.state, context.state, "a state can be passed on")
    }
}
