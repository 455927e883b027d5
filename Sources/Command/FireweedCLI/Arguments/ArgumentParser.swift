// Parsing of words into an invocation; pure, except for `checkEncoding()`.

import CommandLanguage
import Foundation

/// Reads command lines.
enum ArgumentParser {
    /// Refuses an argument that is not UTF-8: Swift replaces invalid bytes, which would name another file or value.
    static func checkEncoding() throws {
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let argument = CommandLine.unsafeArgv[index], String(validatingCString: argument) == nil else {
                continue
            }
            // The argument is not shown: it may be a password.
            throw UsageError(message: "argument \(index) is not UTF-8")
        }
    }

    /// Parses a command line without the program's name; throws `UsageError`.
    ///
    /// The options in `defaults` come from the configuration file; the command line takes precedence. Defaults that
    /// cannot be combined with the command line are ignored.
    static func parse(_ arguments: [String], defaults: [OptionUse] = []) throws -> Invocation {
        do {
            return try read(arguments, defaults)
        } catch let error as UsageError {
            guard !defaults.isEmpty, (try? read(arguments, [])) != nil else { throw error }
            for use in defaults {
                var alone = Invocation()
                try use.apply(to: &alone)
            }
            return try read(arguments, defaults.filter { (try? read(arguments, [$0])) != nil })
        }
    }

    private static func read(_ arguments: [String], _ defaults: [OptionUse]) throws -> Invocation {
        // Before the options, which would be refused one by one.
        let first = arguments.first == "--from-curl" ? arguments.dropFirst() : arguments[...]
        if first.first == "curl", first.count > 1 { throw curlInPieces }
        let (given, words) = try OptionReader.read(arguments)
        let kind = scope(words.first, isFromCURL: given.contains { $0.option.names.contains("--from-curl") })
        // Ignores defaults whose scope excludes this kind of command line, and for `serve` a default `--har`: for
        // requests it names the archive to write, for `serve` the one to answer from.
        let configured = defaults.filter { use in
            use.option.scope.contains(kind) && !(kind == .serve && use.option.names.contains("--har"))
        }
        var invocation = Invocation()
        // Precedence: the command line, then the curl command, then the defaults.
        let cancelled = given.filter(\.isCancellation)
        for use in OptionReader.cancelling(configured + cancelled) { try use.apply(to: &invocation) }
        let command = given.last { $0.option.names.contains("--from-curl") }?.value
        if let command {
            for use in cancelled where !use.cancels(anyOf: configured + given) { try CURLReader.checkKnows(use) }
            let ignored = Set(cancelled.flatMap(\.option.names))
            var all = try CURLReader.invocations(of: command, base: invocation, ignoring: ignored)
            for index in all.indices {
                all[index].prepareOutput(for: given)
                for use in OptionReader.cancelling(given) { try use.apply(to: &all[index]) }
            }
            invocation = all.removeFirst()
            invocation.following = all
        } else {
            for use in OptionReader.cancelling(given) { try use.apply(to: &invocation) }
        }
        // `help` is also accepted as a word, as in other commands; for a host named `help`, type a scheme or a path.
        if let topic = try helpTopic(of: words) {
            invocation.task = .help(topic: topic.isEmpty ? nil : topic)
            return invocation
        }
        switch invocation.task {
        case .help:
            invocation.task = .help(topic: words.first.flatMap { Help.isTopic($0) ? $0 : nil })
            return invocation
        case .version, .generate: return invocation
        default: break
        }
        for use in given where !use.option.scope.contains(kind) { throw use.misplaced(kind) }
        switch kind {
        case .serve: return try serve(words.dropFirst(), invocation)
        case .status: return try status(words.dropFirst(), invocation)
        case .webSocket: return try webSocket(words.dropFirst(), invocation)
        case .fetch: return try fetch(words.dropFirst(), invocation)
        default: break
        }
        var request = try request(words, invocation)
        // Credentials in the URL belong to the command line, so they replace the default credentials.
        let isGiven = given.contains { !$0.option.names.filter { ["--auth", "--auth-type"].contains($0) }.isEmpty }
        if request.userInfo != nil, command == nil, !isGiven {
            (request.authentication, request.authenticationType) = (nil, nil)
        }
        return request
    }

    /// Returns the topic of `help` (empty), `help TOPIC` or `SUBCOMMAND help`; `nil` for other words; throws
    /// `UsageError` for an unknown topic.
    private static func helpTopic(of words: [String]) throws -> String? {
        if words.count == 2, words[1] == "help", Subcommand(rawValue: words[0]) != nil { return words[0] }
        guard words.first == "help", words.count <= 2 else { return nil }
        guard let topic = words.dropFirst().first, !Help.isTopic(topic) else { return words.dropFirst().first ?? "" }
        guard Item(topic) == nil, !topic.contains(where: "/:.".contains) else { return nil }
        throw UsageError(
            message: "there is no help about \"\(topic)\"; topics are \(Completions.topics.joined(separator: ", "))")
    }

    private static func scope(_ word: String?, isFromCURL: Bool) -> OptionScope {
        switch word {
        case "serve": .serve
        case "status": .status
        case "ws": .webSocket
        case "fetch": .fetch
        default: isFromCURL ? .fromCURL : .request
        }
    }

    private static func serve(_ words: ArraySlice<String>, _ invocation: Invocation) throws -> Invocation {
        var invocation = invocation
        var (port, folder): (UInt16?, String?)
        for word in words {
            if port == nil, !word.isEmpty, word.allSatisfy(\.isNumber) {
                guard let number = UInt16(word) else {
                    throw UsageError(message: "a port is a number from 0 to 65535, and not \(word)")
                }
                port = number
            } else if folder == nil {
                guard !word.isEmpty else { throw UsageError(message: "the name of the folder is empty") }
                folder = word
            } else {
                throw UsageError(message: "usage: fireweed serve [OPTIONS] [PORT] [FOLDER]")
            }
        }
        guard invocation.keyFile == nil || invocation.certificateFile != nil else {
            throw UsageError(message: "--key needs --cert")
        }
        guard folder == nil || invocation.archiveFile == nil else {
            throw UsageError(message: "--har and a folder cannot go together")
        }
        guard invocation.servedStatus == nil || folder == nil && invocation.archiveFile == nil else {
            throw UsageError(message: "--status answers every request; it goes without a folder and --har")
        }
        guard invocation.servedDelay == nil || folder != nil || invocation.servedStatus != nil else {
            throw UsageError(message: "--delay needs a folder or --status; /delay/N is an endpoint of the server")
        }
        guard !invocation.takesUploads || folder != nil else { throw UsageError(message: "--uploads needs a folder") }
        guard invocation.maximumContentLength == nil || invocation.takesUploads else {
            throw UsageError(message: "--max-body needs --uploads")
        }
        invocation.task = .serve(port: port ?? 0, folder: folder)
        return invocation
    }

    private static func status(_ words: ArraySlice<String>, _ invocation: Invocation) throws -> Invocation {
        var invocation = invocation
        guard words.count <= 1 else { throw UsageError(message: "usage: fireweed status [HOST[:PORT]|URL] [--watch]") }
        invocation.task = .status(target: words.first)
        return try InvocationRules.checkedStatus(invocation)
    }

    private static func webSocket(_ words: ArraySlice<String>, _ invocation: Invocation) throws -> Invocation {
        var invocation = invocation
        guard var url = words.first else { throw UsageError(message: "usage: fireweed ws URL [ITEM ...]") }
        // People copy the http or https URL of a page: its scheme is that of the handshake's GET (RFC 6455 §4.1).
        for scheme in ["http", "https"] where url.lowercased().hasPrefix("\(scheme)://") {
            url = (scheme == "http" ? "ws" : "wss") + url.dropFirst(scheme.count)
            break
        }
        invocation.task = .webSocket
        let scheme = invocation.defaultScheme.map { $0 == "http" ? "ws" : "wss" }
        let full = try URLShorthand.expanded(url, schemes: ("ws", "wss"), default: scheme)
        (invocation.url, invocation.userInfo) = URLShorthand.withoutUserInfo(full)
        invocation.items = try words.dropFirst().map { word in
            guard let item = Item(word), !item.isData else {
                throw UsageError(message: "\"\(word)\" is not an item of a handshake: Header:value or name==value")
            }
            return item
        }
        return try InvocationRules.checked(invocation)
    }

    /// Parses the words of `fetch`: URLs and fields in any order; every request gets the fields.
    private static func fetch(_ words: ArraySlice<String>, _ invocation: Invocation) throws -> Invocation {
        var invocation = invocation
        invocation.task = .fetch
        for word in words {
            guard !isFurtherURL(word), isItem(word) || isField(word), let item = Item(word) else {
                let isPattern = !invocation.takesURLsLiterally
                invocation.urlPatterns.append(isPattern ? try URLGlob(word) : URLGlob(literal: word))
                continue
            }
            guard [.header, .headerFromFile, .emptyHeader, .removedHeader].contains(item.kind) else {
                throw UsageError(message: "\"\(word)\" is not a field of every request: Name:value")
            }
            invocation.items.append(item)
        }
        return try InvocationRules.checkedFetch(invocation)
    }

    /// Whether `NAME:NUMBER` is a field, not a host: a known field's name, or a name with a capital first and no dot.
    private static func isField(_ word: String) -> Bool {
        guard let item = Item(word), item.kind == .header, Int(item.value) != nil else { return false }
        let isKnown = Completions.fields.contains { $0.dropLast().lowercased() == item.name.lowercased() }
        return isKnown || item.name.first?.isUppercase == true && !item.name.contains(".")
    }

    private static let curlInPieces = UsageError(
        message: "\"curl\" is a command, and no URL; --from-curl has a curl command as one word, in quotes")

    private static func request(_ words: [String], _ invocation: Invocation) throws -> Invocation {
        var invocation = invocation
        if invocation.curlCommand != nil {
            guard words.isEmpty else {
                throw UsageError(message: "--from-curl has method, URL and content; \"\(words[0])\" cannot go with it")
            }
            // `InvocationRules` knows the URLs of one part alone.
            if invocation.replacesOutput, !invocation.following.isEmpty, let file = invocation.outputFile,
                !file.isNothingOrStandardOutput
            {
                throw UsageError(message: "--output is one file, and there are several URLs; use --download")
            }
            for other in invocation.following { _ = try InvocationRules.checked(other) }
            return try InvocationRules.checked(invocation)
        }
        var words = words[...]
        if let first = words.first, ["curl", "wget", "http", "https"].contains(first), words.count > 1 {
            guard first != "curl" else { throw curlInPieces }
            throw UsageError(message: "\"\(first)\" is a command, and no URL")
        }
        if let first = words.first, words.count > 1, isMethod(first, before: words[words.startIndex + 1]) {
            invocation.method = first.uppercased()
            words = words.dropFirst()
        }
        guard let url = words.popFirst(), words.count > 0 || url != url.uppercased() || !isMethod(url, before: "")
        else {
            throw UsageError(message: "a URL is missing; see fireweed --help")
        }
        let others = words.prefix { isFurtherURL($0) }
        words = words.dropFirst(others.count)
        invocation.urlPatterns = try ([url] + others).map {
            invocation.takesURLsLiterally ? URLGlob(literal: $0) : try URLGlob($0)
        }
        try invocation.takeURL(at: 0)
        if invocation.urlCount == 1 { invocation.urlPatterns = [] }
        for word in words {
            guard !word.hasPrefix("http://"), !word.hasPrefix("https://") else {
                throw UsageError(message: "the URL \(word) stands behind an item; URLs come first")
            }
            if word.hasPrefix("@"), word.count > 1 {
                guard invocation.uploadFile == nil else {
                    throw UsageError(
                        message: "\(word) is the whole content, and there is another file; NAME@FILE is a field")
                }
                let file = FileReference(String(word.dropFirst()))
                (invocation.uploadFile, invocation.uploadType) = (file.path, file.type)
                continue
            }
            guard let item = Item(word) else {
                throw UsageError(
                    message: "\"\(word)\" is not an item: Header:value, name==query, field=text, field:=json or "
                        + "field@file; further URLs stand behind the first one")
            }
            invocation.items.append(item)
        }
        return try InvocationRules.checked(invocation)
    }

    /// Whether a word after a URL is another URL: it begins with a scheme, `:/` or `:8080`, or has a slash and is
    /// neither an item nor `@FILE`.
    private static func isFurtherURL(_ word: String) -> Bool {
        if word.hasPrefix("http://") || word.hasPrefix("https://") || word.hasPrefix(":/") { return true }
        if word.hasPrefix(":"), word.dropFirst().first?.isNumber == true { return true }
        return Item(word) == nil && !word.hasPrefix("@") && word.contains("/")
    }

    /// Methods that are accepted in lower case too.
    private static let commonMethods = [
        "get", "head", "post", "put", "patch", "delete", "options", "trace", "propfind",
    ]

    /// Whether a word is a method, not a host: in upper case, or a common method in lower case unless an item follows.
    private static func isMethod(_ word: String, before next: String) -> Bool {
        guard !word.isEmpty, word.allSatisfy({ $0.isASCII && ($0.isLetter || $0 == "-") }) else { return false }
        if word == word.uppercased() { return word != "LOCALHOST" }
        return commonMethods.contains(word.lowercased()) && !isItem(next)
    }

    /// Whether a word is an item and not a URL: `a=b` is an item, `h.example/?a=b` is a URL.
    private static func isItem(_ word: String) -> Bool {
        guard let item = Item(word) else { return false }
        return !item.name.contains("/") && !item.name.contains("?") && !item.name.contains(".") && item.kind != .file
            && !["http", "https"].contains(item.name.lowercased())
            && !(item.kind == .header && Int(item.value.prefix { $0 != "/" && $0 != "?" }) != nil)
    }
}
