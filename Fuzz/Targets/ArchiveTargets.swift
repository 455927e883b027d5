// Targets for archives, logs and curl commands of exchanges.

import Fireweed
import FireweedTransport
import Foundation

extension FuzzTarget {
    private static let secret = "fuzz-secret-5b1e"

    /// The request's URL and fields, the response's fields, and content of both, with empty lines between them.
    static let archive = FuzzTarget("archive", maximumByteCount: 4096) { bytes in
        var rest = bytes
        let lines = rest.takeParagraph().textLines
        let section = Array(rest.takeParagraph())
        let content = Data(rest)
        let head = ResponseHead(status: 200, version: "HTTP/1.1", section: section)
        let fields = ResponseHead(
            status: 200, version: "", section: Array(lines.dropFirst().joined(separator: "\n").utf8)
        ).fields
        let secrets = ["Authorization", "Cookie", "X-Api-Key"].map { Field(name: $0, value: "a \(secret)=\(secret)") }
        let exchange = ExchangeRecord(
            url: URL(string: lines[0]) ?? Samples.url, method: "POST", fields: FieldBlock(fields + secrets),
            response: head.keeping({ _ in true }, appending: [Field(name: "Set-Cookie", value: "a=\(secret)")]),
            report: TransferReport())
        let made = HARWriter(redaction: .standard).entry(
            of: TransactionMetrics(exchange: exchange), sent: content, received: content, error: nil)
        let archive = try HARDocument(entries: [made]).encoded()
        let shown = String(decoding: archive, as: UTF8.self)
        // The first cookie's name is no secret; its value is.
        try expect(shown.components(separatedBy: secret).count <= 2, "no secret is in an archive")
        let document = try JSONSerialization.jsonObject(with: archive) as? [String: Any]
        let log = document?["log"] as? [String: Any]
        try expectEqual((log?["entries"] as? [Any])?.count, 1, "an exchange is an entry")
        let entry = (log?["entries"] as? [[String: Any]])?.first
        let response = entry?["response"] as? [String: Any]
        try expectEqual((response?["headers"] as? [Any])?.count, head.fields.count + 1, "no field is lost")
    }

    /// Text as a URL, as a field, and as content of two types.
    static let redaction = FuzzTarget("redaction") { bytes in
        let text = bytes.text
        let standard = Redaction.standard
        let url = standard.text(ofURL: text)
        // Of a text that is no URL, the value of a parameter may look like one, once something before it is gone.
        let scheme = text.components(separatedBy: "://").first ?? ""
        if !scheme.contains(where: "/?#".contains) {
            try expect(Userinfo.split(url) == nil, "no user is in a URL that is shown")
            try expectEqual(standard.text(ofURL: url), url, "what is redacted stays as it is")
        }
        // Text that the fuzzer gave the secret itself may have it where the archive cannot know it as a secret.
        guard !text.contains(secret) else { return }
        let inner = "\(text)?client_secret=\(secret)&b".addingPercentEncoding(withAllowedCharacters: .alphanumerics)
        let nested = "https://h/?a=\(inner ?? "")"
        try expect(!standard.text(ofURL: nested).contains(secret), "no secret is in a URL inside a URL")
        _ = standard.value(text, ofField: "Authorization")
        let location = standard.value("https://user:\(secret)@a.example/?token=\(secret)", ofField: "Location")
        try expect(!location.contains(secret), "no secret is in a field that is shown")
        let form = standard.content(Data("\(text)&password=\(secret)&a".utf8), type: text + "x-www-form-urlencoded")
        try expect(!String(decoding: form, as: UTF8.self).contains("=\(secret)"), "no secret is in a form")
        let json = Data("{\"token\":\"\(secret)\",\"b\":{\"Password\":[\"\(secret)\"]},\"a\":".utf8) + bytes + [0x7D]
        let cut = standard.content(json.dropLast(), type: "application/json")
        try expect(!String(decoding: cut, as: UTF8.self).contains(secret), "no secret is in JSON that was cut")
        guard (try? JSONSerialization.jsonObject(with: json)) != nil else { return }
        let clean = standard.content(json, type: "application/json")
        try expect((try? JSONSerialization.jsonObject(with: clean)) != nil, "JSON stays JSON")
        try expect(!String(decoding: clean, as: UTF8.self).contains(secret), "no secret is in JSON")
    }
}
