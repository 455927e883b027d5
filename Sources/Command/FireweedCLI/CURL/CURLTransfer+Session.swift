// The session of a curl command: cookies, redirects, and files that are written at the end.

import CommandLanguage
import Fireweed
import Foundation
import Glibc
import Synchronization

extension CURLTransfer {
    /// A cookie from the part of the command before a `--next`.
    struct EarlierCookie: Sendable, Equatable {
        let cookie: HTTPCookie

        init(_ cookie: HTTPCookie) { self.cookie = cookie }
    }

    /// Whether standard input is the content.
    var uploadsStandardInput: Bool { content.upload == "-" || content.upload == "." }

    // MARK: Cookies

    /// Puts the cookies of `-b FILE`, and those left by the part before a `--next`, into a configuration.
    ///
    /// If the command has neither `-b FILE` nor `-c`, and no saved session is in use (`isKept`), the cookie storage is
    /// not used, as in curl. Throws `UsageError` for a file that cannot be read.
    func prepareCookies(of configuration: URLSessionConfiguration, for url: URL, isKept: Bool) throws {
        guard keepsCookies || isKept, let storage = configuration.httpCookieStorage else {
            configuration.httpShouldSetCookies = false
            configuration.httpCookieAcceptPolicy = .never
            return
        }
        for cookie in try fileCookies(for: url) { storage.setCookie(cookie) }
        for earlier in earlierCookies { storage.setCookie(earlier.cookie) }
    }

    /// Returns the cookies of the files in curl's order: longer paths first, then longer domains, longer names, later
    /// cookies.
    ///
    /// A later cookie of the same domain, path and name replaces an earlier one.
    private func fileCookies(for url: URL) throws -> [HTTPCookie] {
        let all = try cookieFiles.flatMap {
            try CURLCookieFile.cookies(in: $0, for: url, dropsSession: dropsSessionCookies)
        }
        var last: [[String]: (index: Int, cookie: HTTPCookie)] = [:]
        for (index, cookie) in all.enumerated() {
            let key = [cookie.domain.lowercased(), cookie.path, cookie.name]
            last[key] = (last[key]?.index ?? index, cookie)
        }
        let ranked = last.values.map { index, cookie in
            let domain = cookie.domain.trimmingPrefix(".")
            return (cookie, rank: (cookie.path.count, domain.count, cookie.name.count, index))
        }
        // Cookies with equally long paths are sent in the order of creation, so the rank becomes the creation time.
        return ranked.sorted { $0.rank > $1.rank }.enumerated().compactMap { index, ranked in
            var properties = ranked.0.properties ?? [:]
            properties[HTTPCookiePropertyKey("Created")] = Double(index)
            // Foundation does not read these two from `properties`: `secure` is a `Bool` there, and `HttpOnly` is
            // missing.
            if ranked.0.isSecure { properties[.secure] = "TRUE" }
            if ranked.0.isHTTPOnly { properties[HTTPCookiePropertyKey("HttpOnly")] = "TRUE" }
            return HTTPCookie.make(properties, octets: ranked.0.wireOctets)
        }
    }

    /// Writes a session's cookies to the file of `-c`; throws what writing throws.
    func writeCookies(of storage: HTTPCookieStorage?) throws {
        guard let cookieJar, !cookieJar.isEmpty else { return }
        try CURLCookieFile.write(storage?.cookies ?? [], to: cookieJar)
    }

    // MARK: Redirects

    /// The parts of the first message that messages after a redirect may repeat.
    struct FirstMessage: Sendable {
        let isPOST: Bool
        private let content: RepeatedContent
        let headers: HTTPHeaders
        /// `USER:PASSWORD`, or a token.
        let secret: String?

        init(_ plan: RequestPlan, _ invocation: Invocation) {
            isPOST = plan.method == .post
            content =
                switch plan.content {
                case .none: .none
                case .data(let data, let type): .data(data, type: type)
                case .file(let file, let type): .file(file, type: type)
                case .input, .stream: .unrepeatable
                case .multipart(let form):
                    (try? form.streams()).map { .form($0, type: form.sentContentType) } ?? .unrepeatable
                }
            headers = plan.headers
            // Credentials in one of several URLs are only for that URL.
            secret = invocation.authentication ?? (invocation.urlCount > 1 ? nil : invocation.userInfo)
        }

        /// Gives the content again to a request that has none.
        func repeatContent(in request: inout URLRequest) {
            switch content {
            case .none: return
            case .data(let data, let type):
                request.httpBody = data
                if !type.isEmpty { request.headers.add(.contentType(type)) }
            case .file(let file, let type):
                request.httpBodyStream = InputStream(url: file)
                if let size = LocalFile.status(file.path)?.st_size {
                    request.headers.add(name: "Content-Length", value: String(size))
                }
                if !type.isEmpty { request.headers.add(.contentType(type)) }
            case .form(let streams, let type):
                let (stream, byteCount) = streams()
                request.httpBodyStream = stream
                request.headers.add(name: "Content-Length", value: String(byteCount))
                request.headers.add(.contentType(type))
            case .unrepeatable: request.httpBodyStream = DescriptorStream.spent
            }
            // The first message's type replaces the one set above; its coding is repeated.
            for name in ["Content-Type", "Content-Encoding"] {
                if let value = headers[name] { request.headers.update(name: name, value: value) }
            }
        }
    }

    /// Content that a message after a redirect may repeat.
    private enum RepeatedContent: Sendable {
        case none
        case data(Data, type: String)
        case file(URL, type: String)
        case form(MultipartFormData.Streams, type: String)
        /// Content that was read once and is gone: a message that needs it fails.
        case unrepeatable
    }

    /// Returns the message that curl would send after a redirect.
    ///
    /// - Parameters:
    ///   - request: the message that the library would send.
    ///   - response: the redirect.
    ///   - first: the first message.
    /// - Returns: the message to send.
    func redirected(_ request: URLRequest, from response: HTTPURLResponse, _ first: FirstMessage) -> URLRequest {
        var request = request
        if let base = response.url, let text = response.value(forHTTPHeaderField: "Location"),
            let url = CURLLocation.url(Self.first(of: text, from: base, to: request.url), from: base)
        {
            request.url = url
        }
        let (status, proposed) = (response.statusCode, request.httpMethod)
        // With `-X` the method stays, but curl drops the content of `-d` and `-F` after a 301, 302 or 303 (unless
        // `--post301` etc.), and that of `-T` after a 303.
        let keepsContent =
            content.upload == nil
            ? !(301...303).contains(status) || statusesThatKeepPOST.contains(status) : status != 303
        if let method {
            request.httpMethod = method
        } else if first.isPOST, statusesThatKeepPOST.contains(status) {
            request.httpMethod = "POST"
        }
        if !content.isEmpty, !keepsContent {
            // Without `httpBody`, content that is not in memory would be sent again (`RedirectHandler`).
            let isSentAgain = request.httpBody == nil && proposed != "GET" && request.httpMethod == proposed
            request.httpBody = isSentAgain ? Data() : nil
            for name in ["Content-Type", "Content-Length", "Transfer-Encoding"] { request.headers[name] = nil }
        } else if request.httpMethod != proposed {
            first.repeatContent(in: &request)
        }
        if updatesReferer, let url = response.url {
            let text = URLShorthand.withoutUserInfo(url.absoluteString).url
            request.setValue(String(text.prefix { $0 != "#" }), forHTTPHeaderField: "Referer")
        }
        if trustsRedirects { addCredentials(to: &request, first) }
        return request
    }

    /// Returns the first of several `Location` fields, whose values are joined in `text`; `target` is where it leads.
    private static func first(of text: String, from base: URL, to target: URL?) -> String {
        guard let comma = text.firstRange(of: ", ") else { return text }
        let first = String(text[..<comma.lowerBound])
        return RedirectRules.target(of: first, from: base) == target ? first : text
    }

    private func addCredentials(to request: inout URLRequest, _ first: FirstMessage) {
        // Restores the fields that the library removes because they may be credentials, such as `X-Api-Key`.
        for field in first.headers where request.headers[field.name] == nil {
            let name = field.name.lowercased()
            let isOfMessage = name.hasPrefix("content-") || ["host", "transfer-encoding", "expect"].contains(name)
            if !isOfMessage { request.headers.add(field) }
        }
        guard request.headers["Authorization"] == nil else { return }
        if let bearerToken {
            request.headers.add(.authorization(bearerToken: bearerToken))
        } else if let secret = first.secret, let colon = secret.firstIndex(of: ":") {
            let (user, password) = (secret[..<colon], secret[secret.index(after: colon)...])
            request.headers.add(.authorization(username: String(user), password: String(password)))
        }
    }

    // MARK: Files

    /// The file that `-C` appends to; `nil` without `-C`, with `-T`, and for standard output.
    var appendedFile: CURLAppendedFile? {
        get throws {
            guard content.upload == nil, offset != nil, let path = try file(ofURL: 0, urls[0]) else { return nil }
            return CURLAppendedFile(path: path, offset: try startOffset ?? 0)
        }
    }

    /// Creates a file's folder for `--create-dirs`, and returns the file, or a free name if no file may be replaced.
    ///
    /// `file` is `nil` when the response names the file. Throws `OutputError`.
    func prepared(_ file: String?) throws -> String? {
        let manager = FileManager.default
        // `NSString` is not used, since it crashes for names of one letter (Foundation 6.3).
        let folder = file.map { file in file.lastIndex(of: "/").map { String(file[..<$0]) } ?? "" } ?? outputFolder
        if createsFolders, let folder, !folder.isEmpty {
            do {
                try manager.createDirectory(atPath: folder, withIntermediateDirectories: true)
            } catch {
                throw OutputError(errorDescription: "the folder \(folder) cannot be made")
            }
        }
        guard let file, !replacesFiles, offset == nil else { return file }
        guard let free = FileName.numbered(file) else {
            throw OutputError(errorDescription: "\(file) is there, and all names beside it too")
        }
        return free
    }

    /// Writes the heads of the responses to a file (`-D`), after those of earlier URLs; throws what writing throws.
    func writeHeads(_ heads: [[UInt8]]) throws {
        guard let headFile, headFile != "-" else { return }
        let isFirst = Self.headFiles.withLock { $0.insert(headFile).inserted }
        let mode = isFirst ? O_TRUNC : O_APPEND
        try CURLAppendedFile.open(headFile, mode).write(contentsOf: Data(heads.joined()))
    }

    /// The files that this run has written heads to.
    private static let headFiles = Mutex<Set<String>>([])

    /// Writes the `ETag` of a response to the file of `--etag-save`; without an `ETag`, an existing file stays as it
    /// is.
    ///
    /// Throws what writing throws.
    func writeTag(of response: HTTPURLResponse?) throws {
        guard let savedTagFile else { return }
        let tag = response?.value(forHTTPHeaderField: "ETag").map { "\($0)\n" } ?? ""
        if tag.isEmpty, FileManager.default.fileExists(atPath: savedTagFile) { return }
        try CURLAppendedFile.open(savedTagFile, O_TRUNC).write(contentsOf: Data(tag.utf8))
    }
}
