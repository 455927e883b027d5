// Sending of one request.

import CommandLanguage
import Fireweed
import Foundation

/// Runs an invocation that makes one request.
final class RequestRunner: @unchecked Sendable {
    // SAFETY: all properties are constants of types that may be shared, except a plan's multipart form, which is never
    // changed.
    let invocation: Invocation
    let plan: RequestPlan
    let made: SessionMaker.Made
    let headers: HTTPHeaders
    /// Credentials of the command line, not those of the URL.
    private let givenAuthentication: Authentication?
    let authentication: Authentication?
    private let kept: SessionUse
    private let offlineServer: OfflineServer?
    /// The letters of `--print` that apply; by default, head and content on a terminal, only the content in a pipe, and
    /// at most the head if the content is saved.
    let parts: [Character]
    let text: MessageText
    let heads: HeadPrinter
    /// The condition of curl's `-z`, read before the file that it may name is replaced; `nil` for parts of documents.
    let timeCondition: CURLTimeCondition?
    /// Whether other requests of the command run beside this one.
    let isParallel: Bool
    /// `nil` if no option needs recorded heads, and beside other requests.
    let recorder: WireRecorder?
    var session: Session { made.session }
    var cookies: HTTPCookieStorage? { made.cookies }

    /// Makes a runner; throws `UsageError`, and the errors of reading and writing files.
    ///
    /// `standardInput` is the content that is piped or redirected into the command; `nil` for none.
    init(_ invocation: Invocation, standardInput: StandardInput.Content? = nil) throws {
        var invocation = invocation
        if let curl = invocation.curl { invocation.outputFile = try curl.prepared(invocation.outputFile) }
        try OutputFile.check(invocation)
        var plan = try RequestPlan(invocation, standardInput: standardInput)
        try Self.checkScheme(of: plan.url, invocation)
        var kept = try SessionUse(invocation)
        let given = try Authentication(invocation, askForPassword: Terminal.askForPassword)
        givenAuthentication = invocation.takesCredentialsOfURL ? nil : given
        authentication = kept.authentication(given, for: plan.url)
        headers = try Self.headers(plan, authentication, isGiven: given != nil, invocation, kept, plan.url)
        offlineServer = try invocation.isOffline && !invocation.printsCURL ? OfflineServer() : nil
        if let offlineServer {
            invocation = invocation.connected(to: offlineServer)
            plan.url = OfflineServer.url(plan.url)
        }
        self.invocation = invocation
        self.plan = plan
        (parts, text, heads) = Self.output(invocation, plan)
        timeCondition = invocation.curl?.wholeTimeCondition
        isParallel = invocation.parallelCount > 1 && (invocation.urlCount > 1 || !invocation.following.isEmpty)
        recorder = isParallel ? nil : Self.recorder(invocation, heads)
        made = try SessionMaker.session(
            for: invocation, plan: plan, saved: kept.restored, observer: recorder)
        kept.begin(with: made.cookies)
        self.kept = kept
    }

    /// Returns the parts to print, their format, and the printer of heads; each URL of a curl command has its own.
    private static func output(
        _ invocation: Invocation, _ plan: RequestPlan
    ) -> (parts: [Character], text: MessageText, heads: HeadPrinter) {
        let parts = Array(Self.parts(invocation))
        let toFile = invocation.savesToFile
        let isTerminal = toFile ? Terminal.isError : Terminal.isOutput
        // Programs that parse curl's output expect heads with the line ends of the wire.
        let isPiped = invocation.curl != nil && !toFile && !Terminal.isOutput
        let text = MessageText(
            appearance: Appearance(invocation, isTerminal: isTerminal, allowsColours: Terminal.allowsColours))
        // As with curl's `-v`, heads go to standard error. Standard output gets the content, and with `-i` the heads of
        // responses.
        let isVerbose =
            invocation.curl?.isVerbose == true && ["Hh", "Hhb"].contains(invocation.print) && !toFile
            && !invocation.isOffline
        let told = MessageText(
            appearance: Appearance(invocation, isTerminal: Terminal.isError, allowsColours: Terminal.allowsColours))
        let heads = HeadPrinter(
            parts: parts, showsAll: invocation.showsAll, text: isVerbose ? told : text,
            contentText: parts.contains("B") ? plan.content.shown(text) : "", isRaw: isPiped,
            hidesTunnels: invocation.curl?.hidesTunnelHeads == true,
            errorParts: isVerbose ? (invocation.curl?.includesHeads == true ? ["H"] : ["H", "h"]) : [],
            write: { text in
                guard !toFile else { return Terminal.tell(text) }
                Terminal.beginLine()
                Terminal.write(text)
            })
        return (parts, text, heads)
    }

    /// Makes the runner of another URL, which shares session, content, fields and password with the first runner.
    ///
    /// Throws `UsageError`, and `OutputError` for a file that cannot be written.
    init(_ invocation: Invocation, beside first: RequestRunner) throws {
        var invocation = invocation
        if let curl = invocation.curl { invocation.outputFile = try curl.prepared(invocation.outputFile) }
        try OutputFile.check(invocation)
        let url = try first.plan.url(for: invocation)
        try Self.checkScheme(of: url, invocation)
        (offlineServer, made, recorder) = (first.offlineServer, first.made, first.recorder)
        timeCondition = invocation.curl?.wholeTimeCondition
        isParallel = first.isParallel
        givenAuthentication = first.givenAuthentication
        let given =
            invocation.takesCredentialsOfURL
            ? try Authentication(invocation, askForPassword: Terminal.askForPassword) : first.givenAuthentication
        var kept = first.kept
        authentication = kept.authentication(given, for: url)
        headers =
            authentication == first.authentication && kept.saved.fields == nil
            ? first.headers
            : try Self.headers(first.plan, authentication, isGiven: given != nil, invocation, kept, url)
        self.kept = kept
        plan = first.plan.with(url: offlineServer == nil ? url : OfflineServer.url(url))
        let own = offlineServer.map { invocation.connected(to: $0) } ?? invocation
        self.invocation = own
        (parts, text, heads) = invocation.curl == nil ? (first.parts, first.text, first.heads) : Self.output(own, plan)
    }

    private static func checkScheme(of url: URL, _ invocation: Invocation) throws {
        guard let allowed = invocation.allowedSchemes, let scheme = url.scheme?.lowercased() else { return }
        guard allowed.contains(scheme) else { throw UsageError(message: "\(scheme) may not be sent (--proto)") }
    }

    private static func headers(
        _ plan: RequestPlan, _ authentication: Authentication?, isGiven: Bool, _ invocation: Invocation,
        _ kept: SessionUse, _ url: URL
    ) throws -> HTTPHeaders {
        var headers = plan.headers
        var own = Set((plan.lines.map(\.name) + plan.removedHeaders).map { $0.lowercased() })
        // Credentials of the command line replace the session's `Authorization` field.
        if isGiven { own.insert("authorization") }
        kept.addFields(for: url, to: &headers, unless: own)
        // With a curl command, the session's cookies are added only when the request is sent (`cookiesFollowFields`).
        if let cookies = headers["Cookie"], own.contains("cookie"), kept.restored != nil, invocation.curl == nil {
            headers.update(name: "Cookie", value: kept.cookieField(cookies, for: url))
        }
        authentication?.addField(to: &headers)
        switch plan.content {
        // Content without a length is sent in chunks anyway, and compressed content gets a length.
        case .data, .file, .multipart:
            if invocation.sendsChunks, !invocation.compresses {
                headers.add(.init(name: "Transfer-Encoding", value: "chunked"))
            }
        case .none, .input, .stream: break
        }
        if !invocation.asksForCodings, headers["Accept-Encoding"] == nil { headers.add(.acceptEncoding("identity")) }
        try RequestPlan.check(headers)
        return headers
    }

    private static func recorder(_ invocation: Invocation, _ heads: HeadPrinter) -> WireRecorder? {
        let isWatched =
            heads.parts.contains(where: "HBh".contains) || invocation.writeOut != nil || invocation.showsDebugging
            || invocation.curl?.headFile != nil || invocation.curl?.includesHeads == true
            // The heads of another URL of the command may have to be printed.
            || invocation.curl != nil && invocation.urlCount > 1
        guard isWatched else { return nil }
        let tell: @Sendable (String) -> Void = { Terminal.tell("* \($0)") }
        return WireRecorder(notes: invocation.showsDebugging ? tell : nil, heads: heads)
    }

    private static func parts(_ invocation: Invocation) -> String {
        if invocation.isOffline, invocation.curl?.isVerbose == true { return "HB" }
        if invocation.isOffline { return invocation.print?.filter("HB".contains) ?? "HB" }
        if invocation.isQuiet { return "" }
        let isInFile = invocation.savesToFile && invocation.curl?.includesHeads == true
        if let print = invocation.print { return isInFile ? print.filter { $0 != "h" } : print }
        if invocation.savesToFile { return invocation.isDownload && Terminal.isOutput ? "h" : "" }
        let isAlone = invocation.writesToStandardOutput || invocation.selection != nil
        return Terminal.isOutput && !isAlone ? "hb" : "b"
    }

    /// Sends the request, and writes the files that outlive the run.
    func run() async -> ExitCode {
        let code = await perform()
        return await keep() || code != .success ? code : .failure
    }

    /// Sends the request, and prints or saves its response.
    func perform() async -> ExitCode {
        recorder?.begin(heads)
        if invocation.printsCURL { return printCURL() }
        if invocation.isInsecure, plan.url.scheme == "https" {
            note(Self.insecurityWarning)
        }
        return invocation.savesToFile ? await download() : await print()
    }

    static let insecurityWarning: TerminalText =
        "fireweed: warning: the server's certificate is not checked; anyone in between can read along\n"

    /// Prints a message that is not a failure, unless `--quiet` or curl's `-s` is given.
    func note(_ text: TerminalText) {
        if !invocation.isQuiet, invocation.curl?.isSilent != true { Terminal.tell(text) }
    }

    /// Writes the session's file, the cookie jar and the archive; returns false if one of these files could not be
    /// written.
    func keep() async -> Bool {
        offlineServer?.removeFolder()
        if invocation.usesCache { await session.flushResponseStore() }
        var isKept = true
        let complain = { (what: String, path: String, error: any Error) in
            Terminal.tell("fireweed: \(what) \(path) cannot be written: \(error.plainText)\n")
            isKept = false
        }
        if let failure = kept.keep(made.cookies, (plan.lines, plan.url)) {
            Terminal.tell("fireweed: \(failure)\n")
            isKept = false
        }
        if let curl = invocation.curl, let jar = curl.cookieJar {
            do { try curl.writeCookies(of: made.cookies) } catch {
                complain("the cookie jar", jar, error)
            }
        }
        if let recorder = made.recorder, let path = invocation.archiveFile {
            do { try recorder.write(to: URL(fileURLWithPath: path)) } catch { complain("the archive", path, error) }
        }
        return isKept
    }

    /// Adds credentials, and the validation for retries, to a request.
    func prepare(_ request: DataRequest) -> DataRequest {
        authentication?.apply(to: request)
        guard invocation.retryCount > 0 else { return request }
        return request.validate { [weak request, made] _, _, _ in made.validation(of: request) }
    }

    // MARK: The request

    var message: URLRequest {
        var request = URLRequest(url: plan.url)
        request.method = plan.method
        request.headers = headers
        return request
    }

    func dataRequest() -> DataRequest {
        switch sentContent {
        case .none where invocation.compresses: session.request(compressedMessage)
        // No `URLRequest` is made, since making one takes microseconds, and reading it takes as many.
        case .none: session.request(plan.url, method: plan.method, headers: headers)
        case .data(let data): session.upload(data, to: plan.url, method: plan.method, headers: headers)
        case .file(let file): session.upload(file, to: plan.url, method: plan.method, headers: headers)
        case .stream(let stream): session.upload(stream, to: plan.url, method: plan.method, headers: headers)
        case .form(let form):
            session.upload(multipartFormData: form, to: plan.url, method: plan.method, headers: headers)
        }
    }

    /// The content to send beside the message; `nil` without content, and with `--compress`: the message then contains
    /// it.
    var sentContent: StreamRequestContent? {
        invocation.compresses ? nil : content
    }

    private var content: StreamRequestContent? {
        switch plan.content {
        case .none: nil
        case .data(let data, _): .data(data)
        case .file(let file, _): .file(file)
        case .input(let input, _): .stream(input.stream())
        case .stream(let stream, _): .stream(stream.stream())
        case .multipart(let form): .form(form)
        }
    }

    /// The message; with `--compress` it contains the content.
    var compressedMessage: URLRequest {
        var request = message
        guard invocation.compresses else { return request }
        switch content {
        case .data(let data): request.httpBody = data
        case .file(let file): request.httpBodyStream = InputStream(url: file)
        case .stream(let stream): request.httpBodyStream = stream
        case .form(let form):
            request.httpBody = try? form.encode()
            request.headers.update(.contentType(form.sentContentType))
        case nil: break
        }
        return request
    }
}

extension Invocation {
    /// Whether the credentials come from this URL; they are used only for this URL.
    fileprivate var takesCredentialsOfURL: Bool { authentication == nil && userInfo != nil }

    /// Returns the invocation with all connections to the offline server; options about connections have no effect.
    fileprivate func connected(to server: OfflineServer) -> Invocation {
        var invocation = self
        invocation.unixSocket = server.path
        invocation.bypassedHosts = ["*"]
        invocation.proxy = nil
        invocation.schemeProxies = [:]
        invocation.httpVersion = .http1Only
        invocation.followsRedirects = false
        return invocation
    }
}
