// A parsed command line.

import CommandLanguage
import Fireweed
import Foundation

/// The task of the command, and its options.
struct Invocation: Sendable, Equatable {
    enum Task: Sendable, Equatable {
        case request
        case serve(port: UInt16, folder: String?)
        case webSocket
        case status(target: String?)
        case fetch
        /// The topic is the word that `--help` was given with, such as `all` or `ws`; `nil` for the short help.
        case help(topic: String?)
        case version
        /// Prints a file that is installed with the command.
        case generate(GeneratedFile)
    }

    /// How data items become content.
    enum BodyForm: Sendable {
        case json, form, multipart
    }

    /// Whether output is coloured, formatted, both or neither.
    enum Prettiness: String, Sendable, CaseIterable {
        case all, colors, format, none

        var hasColours: Bool { self == .all || self == .colors }
        var isFormatted: Bool { self == .all || self == .format }
    }

    /// The format of a client certificate's file.
    enum CertificateType: String, Sendable {
        case pem, p12
    }

    /// The authentication scheme for the credentials.
    enum AuthenticationType: String, Sendable, CaseIterable {
        case basic, digest, bearer, negotiate, ntlm
    }

    var task = Task.request
    var method: String?
    var url = ""
    /// `url`, if it has been parsed.
    var parsedURL: URL?
    /// The URL patterns of `fetch`, or of a request with several URLs, whose first URL is in `url`; else empty.
    var urlPatterns: [URLGlob] = []
    /// The texts of the URL's ranges and alternatives, for `#1` in `outputFile`.
    var patternValues: [String] = []
    /// Whether brackets and braces in URLs are literal.
    var takesURLsLiterally = false
    /// The maximum number of concurrent requests, if there are several URLs.
    var parallelCount = 1
    /// User and password of the URL, decoded, as `USER:PASSWORD`.
    var userInfo: String?
    var items: [Item] = []
    /// The form that an option asked for; with `nil`, items become JSON, and other content keeps its own media type.
    var givenForm: BodyForm?
    var boundary: String?
    var rawBody: String?
    var uploadFile: String?
    /// The media type of `uploadFile`, if given.
    var uploadType: String?
    var sendsChunks = false
    var defaultScheme: String?
    /// What to print, in the letters of `--print`.
    var print: String?
    /// Whether the request is printed, and nothing is sent.
    var isOffline = false
    /// Whether only failures are printed.
    var isQuiet = false
    /// Whether every exchange is printed, including those before a redirect, a challenge or a retry.
    var showsAll = false
    /// Whether the libraries' versions and actions are printed.
    var showsDebugging = false
    var prettiness: Prettiness?
    var style = ColourStyle.standard
    var sortsOutput = false
    var indent = 4
    var responseCharset: String?
    var responseType: String?
    var selection: ValuePath?
    var writeOut: String?
    var expectations: [Expectation] = []
    var outputFile: String?
    /// Whether content is saved whatever the status is (`--any-status`).
    var savesAnyStatus = false
    /// Whether a failure status makes the command fail, although the content is printed or saved (`--fail-with-body`).
    var failsWithContent = false
    var ignoresStandardInput = false
    var isDownload = false
    /// Whether `--output` and `--download` of the command line replace the files of a curl command.
    var replacesOutput = false
    var goesOn = false
    var isStreamed = false
    /// The idle time-out in seconds; `nil` for no limit.
    var timeout: Double? = 60
    var connectTimeout: Double?
    var maximumTime: Double?
    /// The part of `maximumTime` that standard input has taken before the request begins.
    var secondsBeforeSending = 0.0
    var followsRedirects = true
    var checksStatus = false
    var isInsecure = false
    var authorityFile: String?
    var certificateFile: String?
    var keyFile: String?
    var certificateType: CertificateType?
    var keyPassphrase: String?
    var minimumTLSVersion: TLSVersion?
    var maximumTLSVersion: TLSVersion?
    var ciphers: String?
    var pins: [String] = []
    var showsCertificates = false
    var proxy: String?
    var proxyAuthentication: AuthenticationSchemes?
    var alwaysTunnels = false
    /// Proxies by the scheme of the URLs that they are for.
    var schemeProxies: [String: String] = [:]
    var bypassedHosts: [String] = []
    /// Whether the environment's list of hosts without a proxy (`no_proxy`) is ignored.
    var bypassesNothing = false
    var unixSocket: String?
    /// Addresses to connect to instead of looking a host up.
    var addresses: [AddressRule] = []
    /// Hosts and ports to connect to instead of the URL's.
    var routes: [ConnectionRoute] = []
    var ipVersion = IPVersion.any
    var networkInterface: String?
    /// Bytes a second, in each direction.
    var rateLimit: Int?
    /// The schemes that may be sent, redirects included; `nil` for all.
    var allowedSchemes: Set<String>?
    var httpVersion: RequestMessage.HTTPVersion = .automatic
    var maximumFieldCount: Int?
    var maximumExpansion: Int?
    var keepsRemoteTime = false
    var showsTiming = false
    var isVerbose = false
    var usesCache = false
    /// Whether the request is printed as a curl command, and nothing is sent.
    var printsCURL = false
    /// The curl command that replaces URL and items.
    var curlCommand: String?
    /// The parsed curl command of `--from-curl`, up to its first `--next`.
    var curl: CURLTransfer?
    /// The invocations for the parts after each `--next` of the curl command.
    var following: [Invocation] = []
    /// `USER:PASSWORD`, or a token.
    var authentication: String?
    var authenticationType: AuthenticationType?
    var usesNetrc = false
    /// The name of a session that is kept between runs, or the path of its file.
    var sessionName: String?
    /// Whether the session's file is used, but not changed.
    var keepsSessionUnchanged = false
    var archiveFile: String?
    var retryCount: UInt = 0
    /// Whether the retries are those of a curl command, which repeats every method, and not of our own `--retry`.
    var retriesAsCURL = false
    var retryDelay: Double?
    var maximumRetryTime: Double?
    var maximumRedirectCount: Int?
    var sendsBinary = false
    var subprotocol: String?
    var pingInterval: Double?
    var compresses = false
    var quietTime = 0.5
    /// The list of `fireweed fetch`; "-" is standard input.
    var listFile: String?
    /// The file in which `fireweed fetch` notes finished items, when its records go to standard output.
    var journalFile: String?
    /// The server of the list that `fireweed fetch` shares with other runs.
    var fleetURL: String?
    /// The name of the shared list.
    var queueName: String?
    /// Seconds after which other runs take an item of a shared list, unless its run has renewed the lease.
    var leaseSeconds = 30.0
    /// The maximum number of concurrent requests of `fireweed fetch`.
    var jobCount = 8
    /// The maximum number of concurrent requests of `fireweed fetch` to one origin; `nil` for no limit.
    var originLimit: Int?
    /// The least time between the starts of two requests to one origin.
    var requestInterval: Duration?
    /// The folder where contents are saved; with `nil`, the records have the contents.
    var saveFolder: String?
    var omitsContent = false
    /// The most bytes of content, in a response or in an upload to `fireweed serve`.
    var maximumContentLength: Int?
    /// The address that `fireweed serve` listens at.
    var servedHost = "127.0.0.1"
    /// Whether `fireweed serve` accepts new files.
    var takesUploads = false
    /// Whether `fireweed serve` uses TLS.
    var servesTLS = false
    /// The status of every response of `fireweed serve`.
    var servedStatus: Int?
    /// Seconds that `fireweed serve` waits before each response.
    var servedDelay: Double?
    var watches = false

    /// Whether `--output` names standard output, which is written to directly.
    var writesToStandardOutput: Bool {
        outputFile.map { ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].contains($0) } ?? false
    }

    /// Whether the response's content goes to a file; `-o` of `fireweed fetch` names the file of its records.
    var savesToFile: Bool {
        task != .fetch && !writesToStandardOutput && (isDownload || goesOn || outputFile != nil)
    }

    /// Whether the request offers content codings, which are decoded on receipt.
    ///
    /// A file gets the content as it was sent, since its coding may be that of an archive. A curl command offers
    /// codings only with `--compressed`, or when the output has to be text.
    var asksForCodings: Bool {
        guard let curl else { return !savesToFile }
        return curl.asksForCodings || !savesToFile && (Terminal.isOutput || selection != nil || !expectations.isEmpty)
    }

    /// Whether a file gets the content of every status.
    var savesEveryStatus: Bool { savesAnyStatus || failsWithContent }

    /// Whether the status decides the exit code.
    var failsWithStatus: Bool { checksStatus || failsWithContent }

    /// Whether a status is a success: 2xx, or with a curl command every status below 400.
    func isSuccess(_ status: Int) -> Bool { curl == nil ? (200..<300).contains(status) : status < 400 }

    /// How data items become content.
    var bodyForm: BodyForm { givenForm ?? .json }

    /// The most bytes of a file that `fireweed serve` accepts, by default 1 GiB; `nil` if it accepts none.
    var uploadLimit: Int? { takesUploads ? maximumContentLength ?? 1 << 30 : nil }

    /// The method to send: as given, else POST for requests with content, else GET.
    var effectiveMethod: String {
        method ?? (rawBody != nil || uploadFile != nil || items.contains(where: \.isData) ? "POST" : "GET")
    }
}

extension Invocation {
    /// The number of URLs on the command line, with patterns expanded; at least 1.
    var urlCount: Int { max(1, urlPatterns.reduce(0) { $0 + $1.count }) }

    /// Sets `url` to the URL at an index, with its credentials and pattern values, and the file that a curl command
    /// gives it; throws `UsageError` for a word that is not a URL.
    mutating func takeURL(at index: Int) throws {
        var rest = index
        for (number, pattern) in urlPatterns.enumerated() {
            guard rest >= pattern.count else {
                let (text, values) = pattern.url(at: rest)
                let read = try curl?.read(text) ?? URLShorthand.read(text, default: defaultScheme)
                (url, parsedURL, userInfo) = (read.text, read.url, read.userInfo)
                patternValues = values
                if let curl { try take(curl, number, text) }
                return
            }
            rest -= pattern.count
        }
    }

    /// Sets the file and the credentials that a curl command gives for one of its URLs.
    private mutating func take(_ curl: CURLTransfer, _ number: Int, _ text: String) throws {
        if !replacesOutput {
            outputFile = try curl.file(ofURL: number, text)
            isDownload = curl.isNamedByResponse(number)
            if isDownload { outputFile = nil }
        }
        guard authentication == nil, let parsedURL else { return }
        userInfo = try curl.credentials(for: parsedURL, ofURL: userInfo)
    }

    /// Makes room for the options of the command line that replace those of a curl command.
    mutating func prepareOutput(for given: [OptionUse]) {
        func has(_ name: String) -> Bool { given.contains { $0.option.names.contains(name) && !$0.isCancellation } }
        if has("--output") || has("--download") { (replacesOutput, outputFile, isDownload) = (true, nil, false) }
        if has("--continue") { savesAnyStatus = false }
        // A user and a password are no token.
        if has("--auth"), authenticationType == .bearer { authenticationType = nil }
    }

    /// Returns the invocation for one of several URLs, with its own output file; throws `UsageError` for a word that is
    /// not a URL.
    func invocation(at index: Int) throws -> Invocation {
        var invocation = self
        try invocation.takeURL(at: index)
        invocation.outputFile = invocation.outputFile.map { Self.fileName($0, invocation.patternValues) }
        return invocation
    }

    /// A file name that `--output` gives to two of the URLs, among the first 100,000; `nil` if there is none.
    var sharedFile: String? {
        guard curl == nil || replacesOutput, let outputFile, !outputFile.isNothingOrStandardOutput else { return nil }
        var names: Set<String> = []
        for pattern in urlPatterns {
            for index in 0..<pattern.count where names.count < 100_000 {
                let name = Self.fileName(outputFile, pattern.url(at: index).values)
                if !names.insert(name).inserted { return name }
            }
        }
        return nil
    }

    /// Returns a file name in which a URL's pattern values replace `#1`, `#2` and so on; a number without a value
    /// stays.
    private static func fileName(_ name: String, _ values: [String]) -> String {
        name.replacing(/#([0-9]+)/) { match in
            guard let number = Int(match.1), values.indices.contains(number - 1) else { return String(match.0) }
            return values[number - 1]
        }
    }
}

/// A rule of `--resolve`: the addresses to connect to for a host.
struct AddressRule: Sendable, Equatable {
    let host: String
    /// The port that the rule is for; `nil` for every port.
    let port: Int?
    let addresses: [String]

    /// Reads `HOST:PORT:ADDRESS[,ADDRESS]` or `HOST:ADDRESS[,ADDRESS]`; IPv6 addresses may be in brackets.
    init?(_ text: String) {
        let halves = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard halves.count == 2, !halves[0].isEmpty else { return nil }
        host = halves[0]
        let rest = halves[1].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        // A group of an IPv6 address can look like a port: it is a port only if complete addresses follow.
        if rest.count == 2, let number = UInt16(rest[0]), Self.addresses(rest[1]) != nil {
            port = Int(number)
        } else {
            port = nil
        }
        guard let addresses = Self.addresses(port == nil ? halves[1] : rest[1]) else { return nil }
        self.addresses = addresses
    }

    private static func addresses(_ text: String) -> [String]? {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map { part in
            part.hasPrefix("[") && part.hasSuffix("]") ? String(part.dropFirst().dropLast()) : String(part)
        }
        return parts.allSatisfy { IPAddress($0) != nil } ? parts : nil
    }
}

extension String {
    /// Whether a file's name is one that several responses may be written to.
    var isNothingOrStandardOutput: Bool { ["/dev/null", "-", "/dev/stdout"].contains(self) }
}
