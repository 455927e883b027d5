// Building requests from the options of a curl command.

import FireweedTransport
import Foundation
import FoundationNetworking

/// Applies options one after the other, as curl does, and makes the request.
struct CURLRequestBuilder {
    private var content: CURLRequestContent
    private var url: String?
    private var method: String?
    private var headers: [HTTPHeader] = []
    private var removedHeaders: [String] = []
    private var cookies: [String] = []
    /// The credentials of `-u`; without `-u`, the URL's userinfo is used.
    private var login: CURLLogin?
    private var bearerToken: String?
    private var waitsForChallenge = false
    private var timeout: TimeInterval?
    private var sendsDataInQuery = false
    private var headOption: String?
    private var upload: CURLRequestContent.Upload?

    init(files: CURLFiles) {
        content = CURLRequestContent(files: files)
    }

    // MARK: Options

    mutating func apply(_ argument: CURLArgument) throws {
        switch argument.meaning {
        case .data(let kind): try content.add(argument, as: kind)
        case .upload: upload = try content.upload(argument, path: try text(of: argument))
        case .query: sendsDataInQuery = true
        case .head: headOption = argument.written
        case .anyAuthentication: waitsForChallenge = true
        case .ignored, .ignoredValue: break
        default: try apply(argument, try text(of: argument))
        }
    }

    private mutating func apply(_ argument: CURLArgument, _ value: String) throws {
        switch argument.meaning {
        case .method: method = value
        case .header: try add(header: value, argument)
        case .user:
            let halves = value.unicodeScalars.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
                .map { String($0) }
            login = CURLLogin(user: halves[0], password: halves.count > 1 ? halves[1] : "")
            bearerToken = nil
        case .bearer: (bearerToken, login) = (value, nil)
        case .cookie:
            // For a value without `=` or with a leading `@`, curl reads cookies from a file, which is not supported
            // here.
            guard value.utf8.contains(UInt8(ascii: "=")), value.utf8.first != UInt8(ascii: "@") else {
                throw invalid(argument, value)
            }
            cookies.append(value)
        case .userAgent: add(HTTPHeader(name: "User-Agent", value: Self.trimmed(value)))
        case .referer:
            let referer = value.hasSuffix(";auto") ? String(value.dropLast(5)) : value
            add(HTTPHeader(name: "Referer", value: Self.trimmed(referer)))
        case .maximumTime:
            guard let seconds = Double(value), seconds >= 0, seconds.isFinite else { throw invalid(argument, value) }
            timeout = seconds > 0 ? seconds : nil
        case .url:
            guard url == nil else { throw CURLParsingError.severalURLs(value) }
            url = value
        case .form, .formText:
            let field = argument.meaning == .form ? CURLFormField(value) : CURLFormField(literally: value)
            guard let field else { throw invalid(argument, value) }
            try content.add(field, of: argument.written)
        case .data, .query, .head, .anyAuthentication, .upload, .ignored, .ignoredValue: break
        }
    }

    private func text(of argument: CURLArgument) throws -> String {
        guard let text = String(validating: argument.value, as: UTF8.self) else {
            throw invalid(argument, String(decoding: argument.value, as: UTF8.self))
        }
        return text
    }

    private func invalid(_ argument: CURLArgument, _ value: String) -> CURLParsingError {
        .invalidValue(option: argument.written, value: value)
    }

    /// Reads `Name: value`; `Name;` is a field without a value, and `Name:` removes a field that curl would add.
    private mutating func add(header line: String, _ argument: CURLArgument) throws {
        // Compares scalars, as curl compares bytes: in a `Character`, a combining mark after the colon would hide the
        // colon.
        let scalars = line.unicodeScalars
        guard let end = scalars.firstIndex(where: { $0 == ":" || $0 == ";" }), end > scalars.startIndex else {
            throw invalid(argument, line)
        }
        let name = String(scalars[..<end])
        let value = Self.trimmed(String(scalars[scalars.index(after: end)...]))
        // Foundation would silently drop a field whose value contains a line break.
        guard value.staysInLine else { throw invalid(argument, line) }
        if scalars[end] == ";" {
            guard value.isEmpty else { throw invalid(argument, line) }
            headers.append(HTTPHeader(name: name, value: ""))
        } else if value.isEmpty {
            removedHeaders.append(name)
        } else if name.isEqualIgnoringASCIICase("Cookie") {
            cookies.append(value)
        } else {
            headers.append(HTTPHeader(name: name, value: value))
        }
    }

    /// The value without the spaces and tabs around it (RFC 9110 §5.5); other Unicode white space is part of a value.
    private static func trimmed(_ value: String) -> String {
        value.trimmingCharacters(in: CharacterSet(charactersIn: " \t"))
    }

    private mutating func add(_ header: HTTPHeader) {
        if !header.value.isEmpty { headers.append(header) }
    }

    // MARK: The request

    func request(of arguments: CURLArguments) throws -> URLRequest {
        guard let url else { throw CURLParsingError.missingURL }
        let query = sendsDataInQuery ? content.data.map { String(decoding: $0, as: UTF8.self) } : nil
        if let headOption, !sendsDataInQuery, let option = content.option {
            throw CURLParsingError.conflictingOptions(headOption, option)
        }
        var (target, userinfo) = try CURLTarget.url(
            url, query: query, isLiteral: arguments.takesURLLiterally, keepsPath: arguments.keepsPath)
        // curl appends the file's name to a path that is empty or ends with a slash.
        if let name = upload?.name, var parts = URLComponents(url: target, resolvingAgainstBaseURL: false),
            parts.percentEncodedPath.isEmpty || parts.percentEncodedPath.hasSuffix("/")
        {
            parts.path = (parts.path.isEmpty ? "/" : parts.path) + name
            target = parts.url ?? target
        }
        var request = URLRequest(url: target)
        request.httpMethod = method ?? impliedMethod
        if let timeout { request.timeoutInterval = timeout }
        request.headers = fields
        setCredentials(login ?? userinfo, in: &request)
        try setContent(of: &request)
        return request
    }

    /// Sets the credentials of the command: as a field, or, with `--anyauth`, in the URL, since sessions send a URL's
    /// credentials only after a challenge.
    private func setCredentials(_ login: CURLLogin?, in request: inout URLRequest) {
        if let bearerToken { return setDefault(.authorization(bearerToken: bearerToken), in: &request) }
        guard let login else { return }
        guard waitsForChallenge else {
            return setDefault(.authorization(username: login.user, password: login.password), in: &request)
        }
        let name = "Authorization"
        guard request.value(forHTTPHeaderField: name) == nil,
            !removedHeaders.contains(where: name.isEqualIgnoringASCIICase)
        else { return }
        request.url = request.url.map { login.added(to: $0) }
    }

    /// The fields that the command gives; several fields with one name are joined into a list.
    private var fields: HTTPHeaders {
        var fields = HTTPHeaders()
        for header in headers {
            fields.update(
                name: header.name, value: [fields[header.name], header.value].compactMap { $0 }.joined(separator: ","))
        }
        if !cookies.isEmpty { fields.update(name: "Cookie", value: cookies.joined(separator: "; ")) }
        return fields
    }

    private var impliedMethod: String {
        if headOption != nil { return "HEAD" }
        if upload != nil { return "PUT" }
        return content.option == nil || sendsDataInQuery ? "GET" : "POST"
    }

    private func setContent(of request: inout URLRequest) throws {
        if let upload {
            request.httpBody = upload.content.isEmpty ? nil : Data(upload.content)
        } else if let form = content.form {
            request.httpBody = try form.encode()
            let type = request.value(forHTTPHeaderField: "Content-Type")
            // Like curl, this adds the boundary to a given `multipart/form-data`.
            if type == nil || type?.lowercased().hasPrefix("multipart/form-data") == true {
                request.setValue(form.contentType, forHTTPHeaderField: "Content-Type")
            }
        } else if let data = content.data, !sendsDataInQuery {
            request.httpBody = data.isEmpty ? nil : Data(data)
            let type = content.isJSON ? "application/json" : "application/x-www-form-urlencoded"
            setDefault(.contentType(type), in: &request)
        }
        if content.isJSON { setDefault(.accept("application/json"), in: &request) }
    }

    /// Sets a field that curl adds, unless the command sets or removes that field.
    private func setDefault(_ header: HTTPHeader, in request: inout URLRequest) {
        guard request.value(forHTTPHeaderField: header.name) == nil,
            !removedHeaders.contains(where: header.name.isEqualIgnoringASCIICase)
        else { return }
        request.headers.update(header)
    }
}
