// From words to an invocation; pure.

import Foundation

/// Reads command lines.
enum ArgumentParser {
    /// Understands a command line without its first word; throws `UsageError`.
    static func parse(_ arguments: [String]) throws -> Invocation {
        var invocation = Invocation()
        var words: [String] = []
        var rest = arguments[...]
        var takesOptions = true
        while let word = rest.popFirst() {
            if takesOptions, word == "--" {
                takesOptions = false
            } else if takesOptions, word.hasPrefix("-"), word.count > 1 {
                try apply(word, &rest, to: &invocation)
            } else {
                words.append(word)
            }
        }
        guard invocation.task == .request else { return invocation }
        if words.first == "serve" { return try serve(words.dropFirst(), invocation) }
        if words.first == "status" { return try status(words.dropFirst(), invocation) }
        if words.first == "ws" { return try webSocket(words.dropFirst(), invocation) }
        return try request(words, invocation)
    }

    private static func apply(_ word: String, _ rest: inout ArraySlice<String>, to invocation: inout Invocation) throws
    {
        let halves = word.hasPrefix("--") ? word.split(separator: "=", maxSplits: 1).map(String.init) : [word]
        guard let option = Option.named(halves[0]) else {
            throw UsageError(message: "there is no option \(halves[0]); see fireweed --help")
        }
        switch option.effect {
        case .flag(let set):
            guard halves.count == 1 else { throw UsageError(message: "\(halves[0]) takes no value") }
            set(&invocation)
        case .value(let name, let set):
            guard let value = halves.count == 2 ? halves[1] : rest.popFirst() else {
                throw UsageError(message: "\(halves[0]) needs a value: \(name)")
            }
            guard set(&invocation, value) else {
                throw UsageError(message: "\"\(value)\" is no \(name) for \(halves[0])")
            }
        }
    }

    private static func serve(_ words: ArraySlice<String>, _ invocation: Invocation) throws -> Invocation {
        var invocation = invocation
        guard words.count <= 1, let port = UInt16(words.first ?? "0") else {
            throw UsageError(message: "usage: fireweed serve [PORT]")
        }
        invocation.task = .serve(port: port)
        return invocation
    }

    private static func status(_ words: ArraySlice<String>, _ invocation: Invocation) throws -> Invocation {
        var invocation = invocation
        guard words.count <= 1 else { throw UsageError(message: "usage: fireweed status [HOST] [--watch]") }
        invocation.task = .status(host: words.first)
        return invocation
    }

    private static func webSocket(_ words: ArraySlice<String>, _ invocation: Invocation) throws -> Invocation {
        var invocation = invocation
        guard let url = words.first else { throw UsageError(message: "usage: fireweed ws URL [ITEM ...]") }
        invocation.task = .webSocket
        invocation.url = try URLShorthand.expanded(url, schemes: ("ws", "wss"))
        invocation.items = try words.dropFirst().map { word in
            guard let item = Item(word), !item.isData else {
                throw UsageError(message: "\"\(word)\" is no item of a handshake: Header:value or name==value")
            }
            return item
        }
        return try checked(invocation)
    }

    private static func request(_ words: [String], _ invocation: Invocation) throws -> Invocation {
        var invocation = invocation
        if invocation.curlCommand != nil {
            guard words.isEmpty, invocation.rawBody == nil else {
                throw UsageError(message: "--from-curl says everything; method, URL, items and --raw cannot go with it")
            }
            return try checked(invocation)
        }
        var words = words[...]
        if let first = words.first, words.count > 1, isMethod(first),
            Item(words[words.startIndex + 1]) == nil || !isItem(words[words.startIndex + 1])
        {
            invocation.method = first.uppercased()
            words = words.dropFirst()
        }
        guard let url = words.popFirst() else { throw UsageError(message: "a URL is missing; see fireweed --help") }
        invocation.url = try URLShorthand.expanded(url)
        for word in words {
            guard let item = Item(word) else {
                throw UsageError(
                    message: "\"\(word)\" is no item: Header:value, name==query, field=text, field:=json or field@file")
            }
            invocation.items.append(item)
        }
        return try checked(invocation)
    }

    private static func checked(_ invocation: Invocation) throws -> Invocation {
        if invocation.rawBody != nil, invocation.items.contains(where: \.isData) {
            throw UsageError(message: "--raw and data items cannot go together")
        }
        if invocation.uploadFile != nil, invocation.rawBody != nil || invocation.items.contains(where: \.isData) {
            throw UsageError(message: "--upload, --raw and data items cannot go together")
        }
        if invocation.goesOn, let method = invocation.method, method != "GET" {
            throw UsageError(message: "--continue goes with GET, not with \(method)")
        }
        if invocation.goesOn, invocation.effectiveMethod != "GET" {
            throw UsageError(message: "--continue cannot go together with content")
        }
        if invocation.bodyForm == .json, let file = invocation.items.first(where: \.isFile) {
            throw UsageError(
                message: "\(file.name)@… is a file, which JSON cannot hold; use --form, or \(file.name)=@…")
        }
        if invocation.goesOn, invocation.writesToStandardOutput {
            throw UsageError(message: "--continue needs a file, which standard output is not")
        }
        if invocation.savesAnyStatus, invocation.goesOn {
            throw UsageError(message: "--any-status and --continue cannot go together")
        }
        if invocation.printsCURL, invocation.isDownload || invocation.outputFile != nil {
            throw UsageError(message: "--curl sends nothing, so there is nothing for --download or --output")
        }
        if let type = invocation.authenticationType, type != .negotiate, invocation.authentication == nil {
            throw UsageError(message: "--auth-type \(type.rawValue) needs --auth")
        }
        if invocation.isInsecure, invocation.authorityFile != nil {
            throw UsageError(message: "--insecure and --cacert cannot go together")
        }
        if invocation.keyFile != nil, invocation.certificateFile == nil {
            throw UsageError(message: "--key needs --cert")
        }
        if invocation.isStreamed, invocation.savesToFile {
            throw UsageError(message: "--stream prints, and --download and --output save; they cannot go together")
        }
        return invocation
    }

    /// A word of letters is a method when a URL follows.
    private static func isMethod(_ word: String) -> Bool {
        !word.isEmpty && word.allSatisfy { $0.isASCII && ($0.isLetter || $0 == "-") }
            && word.lowercased() != "localhost"
    }

    /// `a=b` after `localhost` is an item, not a URL.
    private static func isItem(_ word: String) -> Bool {
        Item(word) != nil && !word.contains("/") && !word.hasPrefix(":") && !word.contains(".")
            && Int(word.split(separator: ":").last ?? "") == nil
    }
}

/// Short forms of URLs.
enum URLShorthand {
    /// `:8080/x` and hosts of loopback are http, everything else without a scheme is https; throws `UsageError`.
    static func expanded(
        _ text: String, schemes: (clear: String, secure: String) = ("http", "https")
    ) throws -> String {
        let full: String
        if text.contains("://") {
            full = text
        } else if text.hasPrefix(":") {
            let rest = text.dropFirst()
            let host = "\(schemes.clear)://localhost"
            full = rest.first?.isNumber == true ? "\(host):\(rest)" : "\(host)\(rest)"
        } else {
            let host = text.prefix { !":/?#".contains($0) }.lowercased()
            let isLocal =
                host == "localhost" || host.hasPrefix("127.") || host.hasSuffix(".localhost") || text.hasPrefix("[::1]")
            full = "\(isLocal ? schemes.clear : schemes.secure)://\(text)"
        }
        guard let url = URL(string: full), url.host?.isEmpty == false else {
            throw UsageError(message: "\"\(text)\" is no URL")
        }
        return full
    }
}
