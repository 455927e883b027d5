// The session of a curl command: cookies, redirects, and files that are written at the end.

import CommandLanguage
import Fireweed
import Foundation
import Glibc

extension CURLTransfer {
    /// A cookie of the part before a `--next`.
    struct EarlierCookie: Sendable, Equatable {
        let cookie: HTTPCookie

        init(_ cookie: HTTPCookie) { self.cookie = cookie }
    }

    /// Whether standard input is the content.
    var uploadsStandardInput: Bool { content.upload == "-" || content.upload == "." }

    // MARK: Cookies

    /// Puts the cookies of `-b` into a configuration; without a file, a session of curl keeps no cookies.
    ///
    /// Throws `UsageError` for a file that cannot be read.
    func prepareCookies(of configuration: URLSessionConfiguration, for url: URL) throws {
        guard keepsCookies, let storage = configuration.httpCookieStorage else {
            configuration.httpShouldSetCookies = false
            configuration.httpCookieAcceptPolicy = .never
            return
        }
        for cookie in try fileCookies(for: url) { storage.setCookie(cookie) }
        for earlier in earlierCookies { storage.setCookie(earlier.cookie) }
        for cookie in ownCookies(for: url) { storage.setCookie(cookie) }
    }

    /// The cookies of the files for a `Host` of the user's, which curl takes for the host of the URL.
    func cookieText(forHost host: String, _ url: URL) throws -> String? {
        var parts = URLComponents(url: url, resolvingAgainstBaseURL: false)
        parts?.host = host.split(separator: ":").first.map(String.init)
        guard let url = parts?.url, url.host != nil else { return nil }
        let found = try fileCookies(for: url).filter { $0.isMeant(for: url) }
        return found.map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
    }

    /// The cookies of the files in curl's order: those with longer paths, domains and names first, then later ones.
    private func fileCookies(for url: URL) throws -> [HTTPCookie] {
        let all = try cookieFiles.flatMap {
            try CURLCookieFile.cookies(in: $0, for: url, dropsSession: dropsSessionCookies)
        }
        let ranked = all.enumerated().map { index, cookie in
            (cookie, rank: (cookie.path.count, cookie.domain.count, cookie.name.count, index))
        }
        // Equally long paths are sent in the order of their creation.
        return ranked.sorted { $0.rank > $1.rank }.enumerated().compactMap { index, ranked in
            var properties = ranked.0.properties ?? [:]
            properties[HTTPCookiePropertyKey("Created")] = Double(index)
            return HTTPCookie.make(properties, octets: ranked.0.wireOctets)
        }
    }

    /// The cookies of `-b NAME=VALUE` where others are kept: both go with each message.
    private func ownCookies(for url: URL) -> [HTTPCookie] {
        guard keepsCookies, let host = url.host else { return [] }
        return cookies.joined(separator: ";").split(separator: ";").compactMap { pair in
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                .map { $0.trimmingCharacters(in: .whitespaces) }
            guard halves.count == 2 else { return nil }
            return HTTPCookie.make([.name: halves[0], .value: halves[1], .domain: host, .path: "/"], octets: nil)
        }
    }

    /// Writes the cookies of a session where `-c` asks for it; throws what writing throws.
    func writeCookies(of storage: HTTPCookieStorage?, for url: URL) throws {
        guard let cookieJar else { return }
        let own = Set(ownCookies(for: url).map { "\($0.name)=\($0.value)" })
        let kept = (storage?.cookies ?? []).filter { !own.contains("\($0.name)=\($0.value)") }
        try CURLCookieFile.write(kept, to: cookieJar)
    }

    // MARK: Redirects

    /// The message that the first redirect answers, as far as later ones can be like it.
    struct FirstMessage: Sendable {
        let isPOST: Bool
        /// Content in memory.
        let content: Data?
        let headers: HTTPHeaders
        /// User and password.
        let secret: String?

        init(_ plan: RequestPlan, _ invocation: Invocation) {
            isPOST = plan.method == .post
            content = if case .data(let data, _) = plan.content { data } else { nil }
            headers = plan.headers
            // Credentials of one of several URLs are for that URL alone.
            secret = invocation.authentication ?? (invocation.urlCount > 1 ? nil : invocation.userInfo)
        }
    }

    /// The message after a redirect, as curl makes it of ours.
    ///
    /// - Parameters:
    ///   - request: the message that would follow.
    ///   - response: the redirect.
    ///   - first: the first message.
    /// - Returns: the message to send.
    func redirected(_ request: URLRequest, from response: HTTPURLResponse, _ first: FirstMessage) -> URLRequest {
        var request = request
        if let base = response.url, let location = response.value(forHTTPHeaderField: "Location"),
            let url = CURLLocation.url(location, from: base)
        {
            request.url = url
        }
        if let method { request.httpMethod = method }
        if statusesThatKeepPOST.contains(response.statusCode), method == nil, first.isPOST, let content = first.content
        {
            request.httpMethod = "POST"
            request.httpBody = content
            request.headers["Content-Type"] = first.headers["Content-Type"]
        }
        if updatesReferer, let url = response.url {
            let text = URLShorthand.withoutUserInfo(url.absoluteString).url
            request.setValue(String(text.prefix { $0 != "#" }), forHTTPHeaderField: "Referer")
        }
        if trustsRedirects { addCredentials(to: &request, first) }
        return request
    }

    private func addCredentials(to request: inout URLRequest, _ first: FirstMessage) {
        if request.headers["Cookie"] == nil { request.headers["Cookie"] = first.headers["Cookie"] }
        guard request.headers["Authorization"] == nil else { return }
        if let field = first.headers["Authorization"] {
            request.headers["Authorization"] = field
        } else if let bearerToken {
            request.headers.add(.authorization(bearerToken: bearerToken))
        } else if let secret = first.secret, let colon = secret.firstIndex(of: ":") {
            let (user, password) = (secret[..<colon], secret[secret.index(after: colon)...])
            request.headers.add(.authorization(username: String(user), password: String(password)))
        }
    }

    // MARK: Files

    /// The file that `-C` appends to; `nil` where there is nothing yet.
    var appendedFile: CURLAppendedFile? {
        get throws {
            guard content.upload == nil, let start = try startOffset, start > 0, let path = try file(ofURL: 0, urls[0])
            else { return nil }
            return CURLAppendedFile(path: path, offset: start)
        }
    }

    /// Makes the folder of a file where `--create-dirs` asks for it, and gives a name that is free where an existing
    /// file is not to be replaced.
    func prepared(_ file: String) throws -> String {
        let manager = FileManager.default
        // Not by NSString, which ends the process for names of one letter (Foundation 6.3).
        let folder = file.lastIndex(of: "/").map { String(file[..<$0]) } ?? ""
        if createsFolders, !folder.isEmpty {
            do {
                try manager.createDirectory(atPath: folder, withIntermediateDirectories: true)
            } catch {
                throw OutputError(errorDescription: "the folder \(folder) cannot be made")
            }
        }
        guard !replacesFiles, offset == nil else { return file }
        let names = [file] + (1...99).map { "\(file).\($0)" }
        guard let free = names.first(where: { !manager.fileExists(atPath: $0) }) else {
            throw OutputError(errorDescription: "\(file) is there, and all names beside it too")
        }
        return free
    }

    /// Writes the heads of the responses to a file (`-D`); throws what writing throws.
    func writeHeads(_ heads: [[UInt8]]) throws {
        guard let headFile, headFile != "-" else { return }
        try Data(heads.flatMap { $0 }).write(to: URL(fileURLWithPath: headFile))
    }

    /// Writes the validator of a response (`--etag-save`).
    func writeTag(of response: HTTPURLResponse?) {
        guard let savedTagFile else { return }
        let tag = response?.value(forHTTPHeaderField: "ETag").map { "\($0)\n" } ?? ""
        if tag.isEmpty, FileManager.default.fileExists(atPath: savedTagFile) { return }
        do {
            try Data(tag.utf8).write(to: URL(fileURLWithPath: savedTagFile))
        } catch {
            // As with curl, the response counts.
            Terminal.tell("fireweed: \(savedTagFile) cannot be written\n")
        }
    }
}

/// A file, and the part that comes behind what it has.
struct CURLAppendedFile: Sendable {
    let path: String
    /// The number of bytes before the part: those of the file, or those that `-C` names.
    let offset: Int64
    /// The path of the part, before the part is whole.
    var part: String { "\(path).fireweed-part" }

    /// Whether a response is what comes behind the bytes that are there.
    func isContinued(by response: HTTPURLResponse) -> Bool {
        guard response.statusCode == 206, let range = response.value(forHTTPHeaderField: "Content-Range") else {
            return false
        }
        let first = range.drop { !$0.isNumber }.prefix { $0.isNumber }
        return range.lowercased().hasPrefix("bytes") && Int64(first) == offset
    }

    /// Writes heads and then the content of a file, which is removed, to where a path leads (`-i`): links are followed,
    /// and devices written to.
    ///
    /// Throws what reading and writing throw.
    static func write(_ heads: [[UInt8]], _ content: URL, to path: String) throws {
        defer { try? FileManager.default.removeItem(at: content) }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw POSIXError(POSIXError.Code(rawValue: errno) ?? .EIO) }
        let output = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try output.write(contentsOf: Data(heads.flatMap { $0 }))
        try copy(content, to: output)
    }

    private static func copy(_ file: URL, to output: FileHandle) throws {
        let input = try FileHandle(forReadingFrom: file)
        while let bytes = try input.read(upToCount: 1 << 20), !bytes.isEmpty { try output.write(contentsOf: bytes) }
        try output.close()
    }

    /// Moves the part's bytes to the end of the file; throws what reading and writing throw.
    func append() throws {
        let output = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try output.seekToEnd()
        try Self.copy(URL(fileURLWithPath: part), to: output)
        try FileManager.default.removeItem(atPath: part)
    }
}
