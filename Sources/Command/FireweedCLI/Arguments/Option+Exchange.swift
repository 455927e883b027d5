// Options about redirects, retries, credentials and connections.

import Fireweed

extension Option {
    static let exchangeOptions: [Option] = [
        Option(
            names: ["--timeout"], group: .exchange, effect: .limit { $0.timeout = $1 },
            example: "fireweed --timeout 5 api.example/slow",
            help: "Give up after so many seconds without a byte; 0 never does. Default: 60.", scope: .exchange),
        Option(
            names: ["--connect-timeout"], group: .exchange, effect: .limit { $0.connectTimeout = $1 },
            example: "fireweed --connect-timeout 2 api.example",
            help: "Give up when there is no connection after so many seconds; 0, the default, never does.",
            scope: .exchange),
        Option(
            names: ["--max-time"], group: .exchange, effect: .limit { $0.maximumTime = $1 },
            example: "fireweed --max-time 30 -d api.example/report.pdf",
            help: "Give up when the whole takes longer, each time with --retry; 0, the default, never does.",
            scope: .anyRequest),
        Option(
            names: ["--follow"], group: .exchange, effect: .flag { $0.followsRedirects = true },
            example: "fireweed --follow api.example/old",
            help: "Follow redirects (the default).", scope: .exchange),
        Option(
            names: ["--no-follow"], group: .exchange, effect: .flag { $0.followsRedirects = false },
            example: "fireweed --no-follow --headers api.example/old",
            help: "Do not follow redirects.", scope: .exchange),
        Option(
            names: ["--max-redirects"], group: .exchange, effect: .count(0...10_000) { $0.maximumRedirectCount = $1 },
            example: "fireweed --max-redirects 3 api.example/old",
            help: "Fail at the redirect after so many. Default: 20.", scope: .exchange),
        Option(
            names: ["--retry"], group: .exchange,
            effect: .count(0...100) { ($0.retryCount, $0.retriesAsCURL) = (UInt($1), false) },
            example: "fireweed --retry 5 api.example/busy",
            help: "Try again up to N times after failures that may pass, unless the method could take effect twice, "
                + "the server asks to wait for longer than a minute, or content was printed.",
            scope: .anyRequest),
        Option(
            names: ["--retry-delay"], group: .exchange, effect: .seconds { $0.retryDelay = $1 },
            example: "fireweed --retry 5 --retry-delay 2 api.example/busy",
            help: "Wait so long before each retry, instead of longer each time; longer if the server says, up to a "
                + "minute or this delay.",
            scope: .anyRequest),
        Option(
            names: ["--retry-max-time"], group: .exchange, effect: .seconds { $0.maximumRetryTime = $1 },
            example: "fireweed --retry 20 --retry-max-time 60 api.example/busy",
            help: "Begin no retry later than so many seconds after the start.", scope: .anyRequest),
    ]

    static let identityOptions: [Option] = [
        Option(
            names: ["-a", "--auth"], group: .identity, effect: .text("USER:PASSWORD") { $0.authentication = $1 },
            example: "fireweed --auth ada:secret api.example/me",
            help: "Credentials for the URL's origin alone; a token for bearer. Without \":\" the password is asked "
                + "for. With fetch: for every request of the list without its own.", scope: .exchange),
        Option(
            names: ["-A", "--auth-type"], group: .identity,
            effect: .choice(
                "TYPE", Invocation.AuthenticationType.allCases.map { ($0.rawValue, $0) },
                hint: " (a User-Agent is an item: User-Agent:value)"
            ) {
                $0.authenticationType = $1
            }, example: "fireweed -A bearer -a abc123 api.example/me",
            help: "How to authenticate: basic (the default), digest, bearer, negotiate or ntlm.", scope: .exchange),
        Option(
            names: ["--netrc"], group: .identity, effect: .flag { $0.usesNetrc = true },
            example: "fireweed --netrc api.example/me",
            help: "Take credentials from ~/.netrc, or from the file that NETRC names.", scope: .exchange),
        Option(
            names: ["--session"], group: .identity, effect: .word("NAME") { $0.sessionName = $1 },
            example: "fireweed --session work api.example/login name=ada",
            help:
                "Keep cookies, credentials and header fields between runs, in a file that only you can read; a NAME "
                + "with \"/\" is its path. Credentials and fields are for the URL's origin alone; Content-* and If-* "
                + "are not kept, and fetch keeps cookies alone.", scope: .anyRequest),
        Option(
            names: ["--session-read-only"], group: .identity,
            effect: .word("NAME") {
                $0.sessionName = $1
                $0.keepsSessionUnchanged = true
            }, example: "fireweed --session-read-only work api.example/me",
            help: "Use what a session keeps, and change nothing.", scope: .anyRequest),
    ]

    static let connectionOptions: [Option] = [
        Option(
            names: ["-x", "--proxy"], group: .connection,
            effect: .value("URL", expected: "a URL such as http://host:port or socks5h://host:port") {
                for scheme in ["http", "https"] where $1.hasPrefix("\(scheme):") && !$1.hasPrefix("\(scheme)://") {
                    let url = String($1.dropFirst(scheme.count + 1))
                    $0.schemeProxies[scheme] = url
                    return url.contains("://") && Proxy(url) != nil
                }
                $0.proxy = $1
                return Proxy($1) != nil
            },
            example: "fireweed --proxy socks5h://localhost:1080 api.example",
            help:
                "Go through a proxy: http://…, https://…, socks4://…, socks4a://…, socks5://… or socks5h://…. With "
                + "http: or https: in front it is for URLs of that scheme alone.", scope: .exchange),
        Option(
            names: ["--proxytunnel"], group: .connection, effect: .flag { $0.alwaysTunnels = true },
            example: "fireweed --proxytunnel --proxy http://proxy:3128 http://api.example",
            help: "Have an HTTP proxy make a tunnel (CONNECT) for http: URLs too.", scope: .exchange),
        Option(
            names: ["--proxy-auth-type"], group: .connection,
            effect: .choice(
                "TYPE",
                [("basic", .basic), ("digest", .digest), ("ntlm", .ntlm), ("any", .password)]
                    as [(String, AuthenticationSchemes)]
            ) { $0.proxyAuthentication = $1 },
            example: "fireweed --proxy-auth-type digest --proxy http://ada:pw@proxy:3128 api.example",
            help: "How the proxy's user authenticates: basic (the default), digest, ntlm, or any of these that "
                + "the proxy asks for.", scope: .exchange),
        Option(
            names: ["--noproxy"], group: .connection,
            effect: .word("HOSTS") { $0.bypassedHosts = $1.split(separator: ",").map(String.init) },
            example: "fireweed --proxy http://proxy:3128 --noproxy .intranet,localhost db.intranet/x",
            help: "Hosts and domains to reach without a proxy, separated by commas; * for all.", scope: .exchange),
        Option(
            names: ["--unix-socket"], group: .connection, effect: .word("FILE") { $0.unixSocket = $1 },
            example: "fireweed --unix-socket /run/docker.sock http://localhost/version",
            help: "Connect to this Unix-domain socket, whatever the host.", scope: .exchange),
        Option(
            names: ["--resolve"], group: .connection,
            effect: .value("HOST[:PORT]:ADDRESS", expected: "HOST:ADDRESS or HOST:PORT:ADDRESS") {
                guard let rule = AddressRule($1) else { return false }
                $0.addresses.append(rule)
                return true
            }, example: "fireweed --resolve api.example:443:127.0.0.1 https://api.example/",
            help: "Connect to this address instead of looking HOST up; may be given several times.", scope: .exchange
        ),
        Option(
            names: ["--parallel"], group: .connection, effect: .count(1...1000) { $0.parallelCount = $1 },
            example: "fireweed --parallel 8 ':8080/pages/{1..100}'",
            help: "Run N requests at a time where there are several URLs; responses are printed in the order of the "
                + "URLs.", scope: .request),
        Option(
            names: ["-g", "--globoff"], group: .connection, effect: .flag { $0.takesURLsLiterally = true },
            example: "fireweed --globoff ':8080/search?q={a,b}'",
            help: "Take {a,b}, {1..9} and [1-9] in a URL as they are.", scope: [.request, .fetch]),
        Option(
            names: ["--connect-to"], group: .connection,
            effect: .value("HOST1:PORT1:HOST2:PORT2", expected: "HOST1:PORT1:HOST2:PORT2, each of which may be empty") {
                guard let route = ConnectionRoute($1) else { return false }
                $0.routes.append(route)
                return true
            },
            example: "fireweed --connect-to api.example:443:staging.example:8443 https://api.example/",
            help: "Connect to HOST2:PORT2 for URLs with HOST1:PORT1; what is left out is any, or stays. May be given "
                + "several times.", scope: .exchange),
        Option(
            names: ["-4", "--ipv4"], group: .connection, effect: .flag { $0.ipVersion = .v4 },
            example: "fireweed --ipv4 api.example",
            help: "Connect to IPv4 addresses only.", scope: .exchange),
        Option(
            names: ["-6", "--ipv6"], group: .connection, effect: .flag { $0.ipVersion = .v6 },
            example: "fireweed --ipv6 api.example",
            help: "Connect to IPv6 addresses only.", scope: .exchange),
        Option(
            names: ["--interface"], group: .connection, effect: .word("NAME") { $0.networkInterface = $1 },
            example: "fireweed --interface eth1 api.example",
            help: "Connect from this network interface, or from this address of the machine.", scope: .exchange),
        Option(
            names: ["--limit-rate"], group: .connection,
            effect: .value("SPEED", expected: "bytes a second, such as 500000, 200K or 1.5M") { invocation, text in
                invocation.rateLimit = Self.byteCount(text)
                return invocation.rateLimit != nil
            },
            example: "fireweed --limit-rate 500K -d api.example/large.iso",
            help: "Send and receive no more than so many bytes a second, on average; K, M and G stand for 1024 of the "
                + "smaller.", scope: .anyRequest),
        Option(
            names: ["--proto"], group: .connection,
            effect: .value("LIST", expected: "schemes such as =https, or -http") { invocation, text in
                guard let schemes = Self.schemes(text) else { return false }
                invocation.allowedSchemes = schemes
                return true
            },
            example: "fireweed --proto =https api.example",
            help: "The schemes that may be sent, redirects included, as curl writes them: =https allows https alone, "
                + "-http refuses http.", scope: .anyRequest),
        Option(
            names: ["--http1.1"], group: .connection, effect: .flag { $0.httpVersion = .http1Only },
            example: "fireweed --http1.1 -v api.example",
            help: "Speak HTTP/1.1 only.", scope: .anyRequest),
        Option(
            names: ["--http2"], group: .connection, effect: .flag { $0.httpVersion = .automatic },
            example: "fireweed --http2 -v api.example",
            help: "Offer HTTP/2 to servers of TLS, which choose it or HTTP/1.1 (the default).", scope: .anyRequest),
        Option(
            names: ["--http2-prior-knowledge"], group: .connection, effect: .flag { $0.httpVersion = .http2 },
            example: "fireweed --http2-prior-knowledge :8080/",
            help: "Speak HTTP/2 in clear text too, without asking first.", scope: .anyRequest),
        Option(
            names: ["--max-headers"], group: .connection, effect: .count(1...100_000) { $0.maximumFieldCount = $1 },
            example: "fireweed --max-headers 50 api.example",
            help: "Fail when a head has more fields. Default: 1000.", scope: .exchange),
        Option(
            names: ["--cache"], group: .connection, effect: .flag { $0.usesCache = true },
            example: "fireweed --cache -v api.example/list",
            help: "Keep responses between runs as RFC 9111 allows, and use them; -v tells who answered. Content that "
                + "goes to a file (-o, -d, --save) is not kept.",
            scope: .anyRequest),
    ]

    /// Parses a number of bytes with curl's suffixes; `nil` for any other text, and outside 1 to 10^18 bytes.
    static func byteCount(_ text: String) -> Int? {
        let factors: [Character: Double] = [
            "b": 1, "k": 1024, "m": 1_048_576, "g": 1_073_741_824, "t": 1_099_511_627_776, "p": 1_125_899_906_842_624,
        ]
        let suffix = text.last.flatMap { factors[Character($0.lowercased())] }
        let digits = suffix == nil ? text[...] : text.dropLast()
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E }), let number = Double(digits) else {
            return nil
        }
        let count = number * (suffix ?? 1)
        return (1...1e18).contains(count) ? Int(count) : nil
    }

    /// Parses the value of curl's `--proto`: `=` replaces all schemes, `-` removes a scheme, `+` or no sign adds a
    /// scheme.
    ///
    /// The allowed schemes are http and https at first. Others are left out, so that `=ftp` allows none. `nil` for
    /// invalid text.
    static func schemes(_ text: String) -> Set<String>? {
        var allowed: Set<String> = ["http", "https"]
        for part in text.lowercased().split(separator: ",", omittingEmptySubsequences: false) {
            let sign = part.first.flatMap { "=+-".contains($0) ? $0 : nil }
            let word = String(sign == nil ? part : part.dropFirst())
            guard !word.isEmpty, word.utf8.allSatisfy({ (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) })
            else {
                return nil
            }
            let named = Set(["http", "https"]).filter { word == "all" || word == $0 }
            switch sign {
            case "=": allowed = named
            case "-": allowed.subtract(named)
            default: allowed.formUnion(named)
            }
        }
        return allowed
    }

    static let socketOptions: [Option] = [
        Option(
            names: ["--text"], group: .webSocket, effect: .flag { $0.sendsBinary = false },
            example: "fireweed ws --text ws://localhost:8080/chat",
            help: "Send lines as text messages (the default).", scope: .webSocket),
        Option(
            names: ["--binary"], group: .webSocket, effect: .flag { $0.sendsBinary = true },
            example: "fireweed ws --binary ws://localhost:8080/upload",
            help: "Send binary messages: lines at the prompt, whatever comes from a pipe.", scope: .webSocket),
        Option(
            names: ["--subprotocol"], group: .webSocket, effect: .word("NAMES") { $0.subprotocol = $1 },
            example: "fireweed ws --subprotocol graphql-ws wss://api.example/graphql",
            help: "Offer these subprotocols, separated by commas.", scope: .webSocket),
        Option(
            names: ["--ping"], group: .webSocket, effect: .seconds { $0.pingInterval = $1 },
            example: "fireweed ws --ping 20 wss://api.example/feed",
            help: "Send a ping every so many seconds, and give up when one has no answer.", scope: .webSocket),
        Option(
            names: ["--wait"], group: .webSocket,
            effect: .value("SECONDS", expected: "a number of seconds, 0 or more") { invocation, text in
                guard let seconds = Double(text), seconds >= 0, seconds < 1e6 else { return false }
                invocation.quietTime = seconds
                return true
            }, example: "echo hello | fireweed ws --wait 2 ws://localhost:8080/echo",
            help: "After a pipe's end, close when nothing has come for so long. Default: 0.5.", scope: .webSocket),
        Option(
            names: ["--watch"], group: .status, effect: .flag { $0.watches = true },
            example: "fireweed status --watch",
            help: "Follow the changes.", scope: .status),
        Option(
            names: ["--tls"], group: .serve, effect: .flag { $0.servesTLS = true },
            example: "fireweed serve --tls 8443",
            help: "Speak TLS, with --cert or a certificate that is made for this run; its authority is kept in "
                + "~/.config/fireweed/authority, and trusted by nobody who is not told to.",
            scope: .serve),
    ]

    static let generalOptions: [Option] = [
        Option(
            names: ["--generate"], group: .general,
            effect: .choice("WHAT", GeneratedFile.allCases.map { ($0.rawValue, $0) }) { $0.task = .generate($1) },
            example: "fireweed --generate bash > ~/.local/share/bash-completion/completions/fireweed",
            help: "Print the manual page (man), or the completions of a shell: bash, zsh or fish.", scope: .all),
        Option(
            names: ["--help"], group: .general, effect: .flag { $0.task = .help(topic: nil) },
            example: "fireweed --help all",
            help: "Print the short help; --help all prints everything, and --help TLS or --help ws one part.",
            scope: .all),
        Option(
            names: ["--version"], group: .general, effect: .flag { $0.task = .version }, example: "fireweed --version",
            help: "Print the version.",
            scope: .all),
    ]
}
