// The table of supported curl options.

/// The effect of an option on a request.
///
/// The table omits options that only a session can carry out, such as proxies: ignoring them would change the request's
/// route or trust.
enum CURLMeaning: Equatable {
    // With a value.
    case method, header, user, bearer, cookie, userAgent, referer, maximumTime, url
    case data(CURLDataForm)
    case form, formText
    /// The content is a file, and the method is PUT.
    case upload
    // Without a value, except `ignoredValue`.
    case query, head
    /// Credentials are sent only after a challenge.
    case anyAuthentication
    /// The option has no effect on the request: output, files, connections.
    case ignored
    case ignoredValue

    var takesValue: Bool {
        switch self {
        case .query, .head, .anyAuthentication, .ignored: false
        default: true
        }
    }
}

/// How the value of a data option becomes content.
enum CURLDataForm: Equatable {
    /// `@file` names a file, whose line breaks and NULs are left out.
    case text
    /// Unchanged: a leading `@` is part of the value.
    case raw
    /// `@file` names a file.
    case binary
    /// Percent-encoded.
    case escaped
    /// `@file` names a file; the parts are not joined by `&`, and the type is JSON.
    case json
}

/// One row of the table.
struct CURLOption {
    let name: String
    let letter: Character?
    let meaning: CURLMeaning

    static func named(_ name: some StringProtocol) -> CURLOption? {
        all.first { $0.name == name }
    }

    static func lettered(_ letter: Character) -> CURLOption? {
        all.first { $0.letter == letter }
    }

    private static func row(_ name: String, _ letter: Character? = nil, _ meaning: CURLMeaning) -> CURLOption {
        CURLOption(name: name, letter: letter, meaning: meaning)
    }

    static let all: [CURLOption] = [
        row("request", "X", .method), row("header", "H", .header), row("url", .url),
        row("data", "d", .data(.text)), row("data-ascii", .data(.text)), row("data-raw", .data(.raw)),
        row("data-binary", .data(.binary)), row("data-urlencode", .data(.escaped)), row("json", .data(.json)),
        row("get", "G", .query), row("head", "I", .head), row("form", "F", .form), row("form-string", .formText),
        row("user", "u", .user), row("oauth2-bearer", .bearer), row("cookie", "b", .cookie),
        row("user-agent", "A", .userAgent), row("referer", "e", .referer), row("max-time", "m", .maximumTime),
        row("upload-file", "T", .upload),
        // The session decides about these, in the same way as curl or more safely.
        row("insecure", "k", .ignored), row("location", "L", .ignored), row("max-redirs", .ignoredValue),
        row("compressed", .ignored), row("basic", .ignored), row("anyauth", .anyAuthentication),
        row("http1.1", .ignored),
        row("http2", .ignored), row("path-as-is", .ignored), row("connect-timeout", .ignoredValue),
        row("limit-rate", .ignoredValue),
        row("keepalive-time", .ignoredValue), row("keepalive", .ignored), row("tcp-nodelay", .ignored),
        row("ipv4", "4", .ignored), row("ipv6", "6", .ignored), row("disable", "q", .ignored),
        row("globoff", "g", .ignored),
        // Output, saved files and retries, which do not change the request.
        row("verbose", "v", .ignored), row("silent", "s", .ignored), row("show-error", "S", .ignored),
        row("include", "i", .ignored), row("fail", "f", .ignored), row("fail-with-body", .ignored),
        row("buffer", .ignored), row("no-buffer", "N", .ignored), row("progress-bar", "#", .ignored),
        row("progress-meter", .ignored), row("output", "o", .ignoredValue), row("remote-name", "O", .ignored),
        row("remote-header-name", "J", .ignored), row("create-dirs", .ignored), row("write-out", "w", .ignoredValue),
        row("dump-header", "D", .ignoredValue), row("cookie-jar", "c", .ignoredValue), row("trace-time", .ignored),
        row("retry", .ignoredValue), row("retry-delay", .ignoredValue), row("retry-max-time", .ignoredValue),
    ]
}

extension CURLOption {
    private static func row(_ name: String, _ meaning: CURLMeaning) -> CURLOption {
        row(name, nil, meaning)
    }
}
