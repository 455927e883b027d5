// Checks for combinations of options that are refused.

import CommandLanguage
import Fireweed

/// Refuses invocations in which one option contradicts another, or has no effect beside it.
enum InvocationRules {
    /// Returns the invocation if its options can be combined; throws `UsageError`.
    static func checked(_ invocation: Invocation) throws -> Invocation {
        if let name = invocation.writeOut.flatMap(WriteOut.unknownName) {
            let known = WriteOut.names.joined(separator: ", ")
            throw UsageError(
                message: "%{\(name)} of --write-out is not known; there are \(known), json and header_json")
        }
        let rules = content(invocation) + output(invocation) + connection(invocation) + several(invocation)
        for (isBroken, message) in rules where isBroken {
            throw UsageError(message: message)
        }
        if invocation.bodyForm == .json, let file = invocation.items.first(where: \.isFile) {
            throw UsageError(
                message: "\(file.name)@… is a file, which JSON cannot hold; use --form, or \(file.name)=@…")
        }
        return invocation
    }

    /// Returns the invocation of `fireweed fetch` if its options can be combined; throws `UsageError`.
    static func checkedFetch(_ invocation: Invocation) throws -> Invocation {
        let hasFile = invocation.outputFile != nil && !invocation.writesToStandardOutput
        let rules = [
            (hasFile && invocation.journalFile != nil, "--output is a journal already; --journal goes without it"),
            (
                invocation.goesOn && !hasFile && invocation.journalFile == nil,
                "--continue needs the file of --output or --journal"
            ),
            (
                invocation.omitsContent && invocation.saveFolder != nil,
                "--omit-body and --save cannot go together"
            ),
            (
                invocation.selection != nil && (invocation.omitsContent || invocation.saveFolder != nil),
                "--select puts a part of the content into the record; it goes without --save and --omit-body"
            ),
            (
                invocation.saveFolder != nil && invocation.expectations.contains(where: \.needsContent),
                "--expect json… and body… need the content in memory; they cannot go with --save"
            ),
            (invocation.outputFile == "", "--output needs the name of a file"),
            (
                invocation.fleetURL != nil && invocation.queueName == nil,
                "--fleet needs --queue: the name that all runs of one list have"
            ),
            (
                invocation.fleetURL == nil && (invocation.queueName != nil || invocation.leaseSeconds != 30),
                "--queue and --lease need --fleet"
            ),
        ]
        for (isBroken, message) in rules + connection(invocation) where isBroken { throw UsageError(message: message) }
        return invocation
    }

    /// Returns the invocation of `fireweed status` if its options can be combined; throws `UsageError`.
    static func checkedStatus(_ invocation: Invocation) throws -> Invocation {
        for (isBroken, message) in connection(invocation) where isBroken { throw UsageError(message: message) }
        return invocation
    }

    private static func content(_ invocation: Invocation) -> [(Bool, String)] {
        let hasData = invocation.items.contains(where: \.isData)
        return [
            (invocation.rawBody != nil && hasData, "--raw and data items cannot go together"),
            (
                invocation.uploadFile != nil && (invocation.rawBody != nil || hasData),
                "--upload or @FILE, --raw and data items cannot go together"
            ),
            (
                invocation.boundary != nil && invocation.bodyForm == .json,
                "--boundary goes with --multipart or --form"
            ),
            (invocation.goesOn && invocation.method ?? "GET" != "GET", "--continue goes with GET alone"),
            (invocation.goesOn && invocation.effectiveMethod != "GET", "--continue cannot go together with content"),
        ]
    }

    private static func output(_ invocation: Invocation) -> [(Bool, String)] {
        let sendsNothing = invocation.printsCURL || invocation.isOffline
        let name = invocation.printsCURL ? "--curl" : "--offline"
        return [
            (
                invocation.goesOn && invocation.writesToStandardOutput,
                "--continue needs a file, which standard output is not"
            ),
            (invocation.savesAnyStatus && invocation.goesOn, "--any-status and --continue cannot go together"),
            (
                sendsNothing && (invocation.isDownload || invocation.goesOn || invocation.outputFile != nil),
                "\(name) sends nothing, so there is nothing for --download or --output"
            ),
            (
                sendsNothing && (!invocation.expectations.isEmpty || invocation.failsWithStatus),
                "\(name) sends nothing, so there is no response to check"
            ),
            (
                invocation.isOffline && invocation.print?.contains(where: "HB".contains) == false,
                "--offline sends nothing, so there is no response to print; --print H and B are the request"
            ),
            (
                invocation.isStreamed && invocation.savesToFile,
                "--stream prints, and --download and --output save; they cannot go together"
            ),
            (
                invocation.isStreamed && invocation.selection != nil,
                "--select needs the whole content; it cannot go together with --stream"
            ),
            (
                invocation.savesToFile && invocation.selection != nil,
                "--select prints, and --download and --output save; they cannot go together"
            ),
            (
                invocation.savesToFile && invocation.expectations.contains(where: \.needsContent),
                "--expect json… and body… need the content in memory; they cannot go with --download and --output"
            ),
            (
                invocation.savesAnyStatus && !invocation.savesToFile && invocation.curl == nil,
                "--any-status needs --download or --output"
            ),
            (
                invocation.keepsRemoteTime && !invocation.savesToFile && invocation.curl == nil,
                "--remote-time needs --download or --output"
            ),
        ]
    }

    /// Rules for options that cannot be combined with several URLs, or with `--parallel`.
    private static func several(_ invocation: Invocation) -> [(Bool, String)] {
        guard invocation.urlCount > 1 else { return [] }
        let isParallel = invocation.parallelCount > 1
        let sharedFile = invocation.sharedFile
        let isShared = sharedFile != nil && sharedFile == invocation.outputFile
        return [
            (
                isShared && invocation.patternValues.isEmpty,
                "--output is one file, and there are several URLs; use --download, or #1 with a range in the URL"
            ),
            (
                isShared,
                "--output is one file, and there are several URLs; #1 in its name stands for the URL's first range"
            ),
            (
                sharedFile != nil,
                "--output is the file \(sharedFile ?? "") for more than one URL; #1, #2 … stand for the URL's ranges"
            ),
            (
                isParallel && (invocation.print?.contains(where: "HBh".contains) == true || invocation.showsAll),
                "heads are printed for one request at a time; leave --parallel out, or print b and m alone"
            ),
            (
                isParallel && (invocation.isStreamed || invocation.showsDebugging || invocation.isOffline),
                "--stream, --debug and --offline are for one request at a time; leave --parallel out"
            ),
            (isParallel && invocation.printsCURL, "--curl sends nothing; leave --parallel out"),
        ]
    }

    private static func connection(_ invocation: Invocation) -> [(Bool, String)] {
        let type = invocation.authenticationType
        let isTyped = invocation.curl == nil
        return [
            (
                invocation.proxy != nil && !invocation.schemeProxies.isEmpty,
                "--proxy is for all schemes, or for each one alone; not both"
            ),
            (
                type != nil && type != .negotiate && invocation.authentication == nil && invocation.userInfo == nil,
                "--auth-type \(type?.rawValue ?? "") needs --auth"
            ),
            (
                invocation.isInsecure && invocation.authorityFile != nil,
                "--insecure and --cacert cannot go together"
            ),
            (
                (invocation.alwaysTunnels || invocation.proxyAuthentication != nil) && invocation.proxy == nil
                    && invocation.schemeProxies.isEmpty && !Proxy.isInEnvironment && invocation.curl == nil,
                "--proxytunnel and --proxy-auth-type need --proxy, or a proxy in the environment"
            ),
            // curl ignores these options without the option that they belong to.
            (isTyped && invocation.keyFile != nil && invocation.certificateFile == nil, "--key needs --cert"),
            (
                isTyped && invocation.keyPassphrase != nil && invocation.certificateFile == nil,
                "--cert-key-pass needs --cert"
            ),
            (
                isTyped && (invocation.retryDelay != nil || invocation.maximumRetryTime != nil)
                    && invocation.retryCount == 0,
                "--retry-delay and --retry-max-time need --retry"
            ),
            (
                (invocation.minimumTLSVersion ?? .tls10) > (invocation.maximumTLSVersion ?? .tls13),
                "--tls-max is older than --tls-min"
            ),
        ]
    }
}
