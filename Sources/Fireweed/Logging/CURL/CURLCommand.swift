// A request as a `curl` command.

import FireweedTransport
import Foundation

/// Writes a command that a POSIX shell can run and that sends the same bytes.
///
/// The command begins with `$ curl -v`, or with a pipe into `curl` for content that no argument can hold. It follows
/// Alamofire's format where that format is safe.
struct CURLCommand {
    let method: String
    var urlText: String
    var fields: [Field]
    var credential: (user: String, password: String)?
    var schemes = AuthenticationSchemes.password
    var content = CURLContent.none
    /// Whether `fields` are all fields of the message, so that the command must stop curl from adding others.
    var isComplete = true

    /// Fields that curl derives from the content.
    private static let framing = ["Content-Length", "Transfer-Encoding"]

    /// Returns the command; `names` are further secret fields, in lower case.
    func text(_ secrets: CURLSecrets, hiding names: Set<String> = []) -> String {
        let command = secrets == .hidden ? redacted(by: CURLSecrets.redaction.hiding(fields: names)) : self
        let (pipe, contentOptions) = command.sentContent.shellText
        var parts = ["$ \(pipe)curl -v", "-X \(Self.methodWord(method))"]
        parts += command.behaviour + command.identity + command.fieldOptions + contentOptions
        parts.append(ShellText.quoted(command.target))
        return parts.joined(separator: " \\\n\t")
    }

    /// The content that the command sends; POST, PUT and PATCH without content announce a length of zero (RFC 9110
    /// §8.6).
    private var sentContent: CURLContent {
        if case .none = content, ["POST", "PUT", "PATCH"].contains(method) { return .data(Data()) }
        return content
    }

    private var hasContent: Bool { if case .none = sentContent { false } else { true } }

    /// The options that change how curl sends the request.
    private var behaviour: [String] {
        var options: [String] = []
        if method == "HEAD", !hasContent { options.append("-I") }  // with -X alone, curl would wait for content
        if urlText.contains(where: "[]{}".contains) { options.append("-g") }
        if urlText.contains("/.") { options.append("--path-as-is") }
        return options
    }

    // MARK: Credentials and cookies

    private var identity: [String] {
        var options: [String] = []
        if let credential {
            let isForOption = !credential.user.contains(":")
            if isForOption { options.append("-u \(ShellText.word("\(credential.user):\(credential.password)"))") }
            options += schemeOption
        } else if Userinfo.split(urlText) != nil {
            // A session sends the credentials of a URL only after a challenge; with `--anyauth`, curl does the same.
            options.append("--anyauth")
        }
        if let cookie = fields.first(where: isCookieOption) { options.append("-b \(ShellText.quoted(cookie.value))") }
        return options
    }

    /// The option for the scheme if only one is allowed; else `--anyauth`: curl then sends credentials only after a
    /// challenge.
    private var schemeOption: [String] {
        switch schemes {
        case .basic: ["--basic"]
        case .digest: ["--digest"]
        case .ntlm: ["--ntlm"]
        case .negotiate: ["--negotiate"]
        default: ["--anyauth"]
        }
    }

    /// Whether `-b` can send the field: curl reads a file for a value without `=` or with `@` at the start, and drops
    /// values that are too long.
    private func isCookieOption(_ field: Field) -> Bool {
        field.name.isEqualIgnoringASCIICase("Cookie") && field.value.utf8.first != UInt8(ascii: "@")
            && (field.value.contains("=") || field.value == CURLSecrets.redaction.replacement)
            && field.value.utf8.count < 8000
    }

    /// The URL, with the user and password in it when `-u` would split them at the wrong colon.
    private var target: String {
        guard let credential, credential.user.contains(":"),
            var components = URLComponents(string: urlText)
        else { return urlText }
        components.percentEncodedUser = QueryText.escaped(
            credential.user, keeping: QueryText.UnescapedCharacters(.alphanumerics))
        components.percentEncodedPassword = QueryText.escaped(
            credential.password, keeping: QueryText.UnescapedCharacters(.alphanumerics))
        return components.string ?? urlText
    }

    // MARK: Fields

    private var fieldOptions: [String] {
        let sent = fields.filter { field in
            !isCookieOption(field) && !Self.framing.contains(where: field.name.isEqualIgnoringASCIICase)
        }
        // "Name;" is curl's syntax for a field without a value; "Name:" removes a field that curl would add.
        let options = sent.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
        var removed: [String] = []
        if hasContent {
            if !has("Content-Type") { removed.append("Content-Type:") }
            if sentContent.isLarge, !has("Expect") { removed.append("Expect:") }
        }
        if isComplete, !has("User-Agent") { removed.append("User-Agent:") }
        let coding = isComplete && !has("Accept-Encoding") ? ["--compressed"] : []
        return (options + removed).map { "-H \(ShellText.quoted($0))" } + coding
    }

    private func has(_ name: String) -> Bool {
        fields.contains { $0.name.isEqualIgnoringASCIICase(name) }
    }

    // MARK: Redacting

    private func redacted(by redaction: Redaction) -> CURLCommand {
        var command = self
        command.urlText = redaction.text(ofURL: urlText)
        // `text(ofURL:)` removes userinfo, so the command shows the replacement where the URL had userinfo.
        if Userinfo.split(urlText) != nil, let scheme = command.urlText.range(of: "://") {
            command.urlText.insert(contentsOf: "\(redaction.replacement)@", at: scheme.upperBound)
        }
        command.fields = fields.map {
            Field(name: $0.name, value: redaction.value($0.value, ofField: $0.name))
        }
        if credential != nil { command.credential = (redaction.replacement, redaction.replacement) }
        // Only content in one piece is redacted: multipart forms, files and streams are shown unchanged.
        if case .pieces(let pieces) = content, pieces.count == 1, case .bytes(let data) = pieces[0],
            let clean = redaction.searchedContent(data, type: FieldBlock(fields).value(of: "Content-Type"))
        {
            command.content = .data(clean)
        }
        return command
    }

    private static func methodWord(_ method: String) -> String {
        method.utf8.allSatisfy { (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) || $0 == 0x2D }
            ? method : ShellText.quoted(method)
    }
}
