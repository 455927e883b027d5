import Fireweed
import FireweedTesting
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

/// What a command is to become.
struct Expected: Sendable {
    var method = "GET"
    var url = "https://h.example/"
    var headers: [String: String] = [:]
    var body: String?
}

private let urlEncoded = "application/x-www-form-urlencoded"

@Suite("curl commands as requests")
struct CURLParsingTests {
    private func check(_ command: String, _ expected: Expected) throws {
        let request = try URLRequest(cURL: command)
        #expect(request.httpMethod == expected.method)
        #expect(request.url?.absoluteString == expected.url)
        #expect(request.allHTTPHeaderFields ?? [:] == expected.headers)
        #expect(request.httpBody.map { String(decoding: $0, as: UTF8.self) } == expected.body)
    }

    @Test(
        "options mean what curl's manual says",
        arguments: [
            ("curl https://h.example/", Expected()), ("$ curl https://h.example/", Expected()),
            ("/usr/bin/curl --url https://h.example/", Expected()),
            ("curl h.example/x", Expected(url: "http://h.example/x")), ("curl -- https://h.example/", Expected()),
            ("curl https://h.example/a/./b/../c?x=/../y", Expected(url: "https://h.example/a/c?x=/../y")),
            ("curl --path-as-is https://h.example/a/../c", Expected(url: "https://h.example/a/../c")),
            ("curl -X PUT https://h.example/", Expected(method: "PUT")),
            ("curl -XPUT https://h.example/", Expected(method: "PUT")),
            ("curl --request=PUT https://h.example/", Expected(method: "PUT")),
            ("curl -I https://h.example/", Expected(method: "HEAD")),
            ("curl https://h.example/ -H 'A: b' -H 'C:d'", Expected(headers: ["A": "b", "C": "d"])),
            ("curl https://h.example/ -H'A: b' -H 'E;' -H 'Accept:'", Expected(headers: ["A": "b", "E": ""])),
            ("curl https://h.example/ -H 'A: b' -H 'A: c'", Expected(headers: ["A": "b,c"])),
            (
                "curl https://h.example/ -d a=b",
                Expected(method: "POST", headers: ["Content-Type": urlEncoded], body: "a=b")
            ),
            (
                "curl https://h.example/ -d a=b -d c=d",
                Expected(method: "POST", headers: ["Content-Type": urlEncoded], body: "a=b&c=d")
            ),
            (
                "curl https://h.example/ -da=b --data-ascii x",
                Expected(method: "POST", headers: ["Content-Type": urlEncoded], body: "a=b&x")
            ),
            (
                "curl https://h.example/ --data-raw @x",
                Expected(method: "POST", headers: ["Content-Type": urlEncoded], body: "@x")
            ),
            (
                "curl https://h.example/ --data-binary $'a\\nb'",
                Expected(method: "POST", headers: ["Content-Type": urlEncoded], body: "a\nb")
            ),
            (
                "curl https://h.example/ -d x -H 'content-type: text/plain'",
                Expected(method: "POST", headers: ["content-type": "text/plain"], body: "x")
            ),
            ("curl https://h.example/ -d x -H Content-Type:", Expected(method: "POST", body: "x")),
            ("curl https://h.example/ -d ''", Expected(method: "POST", headers: ["Content-Type": urlEncoded])),
            (
                "curl https://h.example/ -X PATCH -d x",
                Expected(method: "PATCH", headers: ["Content-Type": urlEncoded], body: "x")
            ),
            (
                "curl https://h.example/ --data-urlencode 'a b&c' --data-urlencode 'n=x y' --data-urlencode '=é'",
                Expected(method: "POST", headers: ["Content-Type": urlEncoded], body: "a%20b%26c&n=x%20y&%C3%A9")
            ),
            (
                "curl --json '{\"a\":' --json '1}' https://h.example/",
                Expected(
                    method: "POST", headers: ["Content-Type": "application/json", "Accept": "application/json"],
                    body: "{\"a\":1}")
            ),
            ("curl -G https://h.example/ -d a=b -d c", Expected(url: "https://h.example/?a=b&c")),
            (
                "curl -G 'https://h.example/?x#f' --data-urlencode 'q=a b'",
                Expected(url: "https://h.example/?x&q=a%20b#f")
            ),
            ("curl -G -I https://h.example/ -d a=b", Expected(method: "HEAD", url: "https://h.example/?a=b")),
            ("curl -u user:pass https://h.example/", Expected(headers: ["Authorization": "Basic dXNlcjpwYXNz"])),
            ("curl -u sk_test: https://h.example/", Expected(headers: ["Authorization": "Basic c2tfdGVzdDo="])),
            ("curl -u a:b -H 'Authorization: c' https://h.example/", Expected(headers: ["Authorization": "c"])),
            ("curl https://user:p%61ss@h.example/", Expected(headers: ["Authorization": "Basic dXNlcjpwYXNz"])),
            ("curl -u user:pass https://a:b@h.example/", Expected(headers: ["Authorization": "Basic dXNlcjpwYXNz"])),
            ("curl -H 'Authorization: c' https://a:b@h.example/", Expected(headers: ["Authorization": "c"])),
            ("curl --oauth2-bearer t https://a:b@h.example/", Expected(headers: ["Authorization": "Bearer t"])),
            // Sent after a challenge.
            ("curl --anyauth -u us:p@ss https://h.example/", Expected(url: "https://us:p%40ss@h.example/")),
            ("curl -u us:p --basic --anyauth https://a:b@h.example/", Expected(url: "https://us:p@h.example/")),
            ("curl --anyauth https://us:p@h.example/", Expected(url: "https://us:p@h.example/")),
            ("curl --anyauth -u a:b -H Authorization: https://h.example/", Expected()),
            ("curl --oauth2-bearer t https://h.example/", Expected(headers: ["Authorization": "Bearer t"])),
            ("curl -b 'a=b; c=d' -b e=f https://h.example/", Expected(headers: ["Cookie": "a=b; c=d; e=f"])),
            ("curl -b a=b -H 'Cookie: c=d' https://h.example/", Expected(headers: ["Cookie": "a=b; c=d"])),
            (
                "curl -A Me/1 -e 'https://r.example/;auto' https://h.example/",
                Expected(headers: ["User-Agent": "Me/1", "Referer": "https://r.example/"])
            ),
            (
                "curl -sSLkv --compressed --http2 -o file -w '%{http_code}' --no-buffer --no-keepalive https://h.example/",
                Expected()
            ),
            ("curl -vXPOST https://h.example/", Expected(method: "POST")),
            (
                "curl -sdx https://h.example/",
                Expected(method: "POST", headers: ["Content-Type": urlEncoded], body: "x")
            ),
            ("curl -g 'https://h.example/?a[]=1'", Expected(url: "https://h.example/?a%5B%5D=1")),
            ("curl -g 'https://h.example/?a[]=1%20b'", Expected(url: "https://h.example/?a%5B%5D=1%20b")),
            (#"curl 'https://h.example/?a\[\]=1'"#, Expected(url: "https://h.example/?a%5B%5D=1")),
            ("curl 'https://[::1]:80/'", Expected(url: "https://[::1]:80/")), ("curl https://h.example/ ;", Expected()),
            ("curl https://h.example/ &\n", Expected()),
        ])
    func options(command: String, expected: Expected) throws {
        try check(command, expected)
    }

    @Test("what a Chromium browser copies")
    func chromium() throws {
        let command = #"""
            curl 'https://h.example/api?q=\[1\]' \
              -H 'accept: */*' \
              -H 'accept-language: en-US,en;q=0.9' \
              -b 'sid=1; theme=dark' \
              -H 'content-type: application/json' \
              -H 'sec-ch-ua: "Chromium";v="130"' \
              --data-raw $'{"text":"it\'s\\n\u0021 \u2028"}' \
              --compressed --insecure
            """#
        try check(
            command,
            Expected(
                method: "POST", url: "https://h.example/api?q=%5B1%5D",
                headers: [
                    "accept": "*/*", "accept-language": "en-US,en;q=0.9", "Cookie": "sid=1; theme=dark",
                    "content-type": "application/json", "sec-ch-ua": "\"Chromium\";v=\"130\"",
                ],
                body: "{\"text\":\"it's\\n! \u{2028}\"}"))
    }

    @Test("what Firefox, Safari and Postman copy")
    func others() throws {
        try check(
            "curl 'https://h.example/' --compressed -X POST -H 'User-Agent: Mozilla/5.0' -H 'Priority: u=0' --data-raw 'a=1&b=%20'",
            Expected(
                method: "POST", headers: ["User-Agent": "Mozilla/5.0", "Priority": "u=0", "Content-Type": urlEncoded],
                body: "a=1&b=%20"))
        try check(
            "curl 'https://h.example/' \\\n-X 'PUT' \\\n-H 'Accept: */*' \\\n--data-binary '{}'",
            Expected(method: "PUT", headers: ["Accept": "*/*", "Content-Type": urlEncoded], body: "{}"))
        try check(
            "curl --location --request POST 'https://h.example/' \\\n--header 'Content-Type: application/json' \\\n--data-raw '{\n    \"a\": 1\n}'",
            Expected(method: "POST", headers: ["Content-Type": "application/json"], body: "{\n    \"a\": 1\n}"))
    }

    @Test("-m is the request's time-out")
    func timeout() throws {
        #expect(try URLRequest(cURL: "curl -m 2.5 https://h.example/").timeoutInterval == 2.5)
        #expect(try URLRequest(cURL: "curl --max-time 0 https://h.example/").timeoutInterval == 60)
    }

    @Test(
        "the first thing that is not understood is named",
        arguments: [
            ("", .notCURL("")), ("wget https://h.example/", .notCURL("wget")), ("curl", .missingURL),
            ("curl -v", .missingURL),
            ("curl --frob https://h.example/ --other", .unsupportedOption("--frob")),
            ("curl -sZ https://h.example/", .unsupportedOption("-Z")),
            ("curl -x proxy https://h.example/", .unsupportedOption("-x")),
            ("curl --digest -u a:b h.example", .unsupportedOption("--digest")),
            ("curl --frob=1 h.example", .unsupportedOption("--frob")),
            ("curl --silent=1 h.example", .unsupportedOption("--silent")),
            ("curl --no-data x h.example", .unsupportedOption("--no-data")),
            ("curl https://h.example/ -X", .missingValue(option: "-X")),
            ("curl https://h.example/ --data", .missingValue(option: "--data")),
            ("curl -m soon h.example", .invalidValue(option: "-m", value: "soon")),
            ("curl -H nothing h.example", .invalidValue(option: "-H", value: "nothing")),
            ("curl -H ': x' h.example", .invalidValue(option: "-H", value: ": x")),
            ("curl -H @file h.example", .invalidValue(option: "-H", value: "@file")),
            ("curl -b jar.txt h.example", .invalidValue(option: "-b", value: "jar.txt")),
            ("curl -F name h.example", .invalidValue(option: "-F", value: "name")),
            ("curl -F 'a=(;type=x' h.example", .invalidValue(option: "-F", value: "a=(;type=x")),
            ("curl -F 'a=b;headers=x' h.example", .invalidValue(option: "-F", value: "a=b;headers=x")),
            ("curl -d a -F b=c h.example", .conflictingOptions("-d", "-F")),
            ("curl -F b=c --json 1 h.example", .conflictingOptions("-F", "--json")),
            ("curl -I -d a h.example", .conflictingOptions("-I", "-d")),
            ("curl -d @file h.example", .fileNotRead(option: "-d", path: "file")),
            ("curl -d @- h.example", .fileNotRead(option: "-d", path: "-")),
            ("curl -F f=@x.png h.example", .fileNotRead(option: "-F", path: "x.png")),
            ("curl --data-urlencode n@file h.example", .fileNotRead(option: "--data-urlencode", path: "file")),
            ("curl a.example b.example", .severalURLs("b.example")),
            ("curl 'https://h.example/[1-3]'", .invalidURL("https://h.example/[1-3]")),
            ("curl 'https://h.example/{a,b}'", .invalidURL("https://h.example/{a,b}")),
            ("curl ftp://h.example/", .invalidURL("ftp://h.example/")),
            ("curl http://", .invalidURL("http://")), ("curl https://h.example/ | jq .", .shellSyntax("|")),
            ("curl https://h.example/ > f", .shellSyntax(">")),
            ("curl https://h.example/?a=1&b=2", .shellSyntax("&")),
            ("curl -X POST\nhttps://h.example/", .shellSyntax("a second line")),
            ("curl -H \"Authorization: Bearer $TOKEN\" h.example", .shellSyntax("$TOKEN")),
            ("curl 'https://h.example/", .unbalancedQuote("'")),
            ("printf a | curl h.example -d @-", .notCURL("printf")),
            ("curl h.example -d @-", .fileNotRead(option: "-d", path: "-")),
            ("curl -X $'\\xff' h.example", .invalidValue(option: "-X", value: "\u{FFFD}")),
        ] as [(String, CURLParsingError)])
    func errors(command: String, expected: CURLParsingError) {
        let error = #expect(throws: CURLParsingError.self) { try URLRequest(cURL: command) }
        #expect(error == expected)
        #expect(expected.errorDescription?.isEmpty == false)
    }

    @Test("files are read where that is allowed, and from nowhere else")
    func files() throws {
        let folder = try TemporaryFolder()
        try Data("a\r\nb\0c\n".utf8).write(to: folder.file("data"))
        func body(_ options: String) throws -> Data? {
            try URLRequest(cURL: "curl h.example \(options)", readingFilesIn: folder.url).httpBody
        }
        #expect(try body("-d @data") == Data("abc".utf8))
        #expect(try body("--data-binary @data") == Data("a\r\nb\0c\n".utf8))
        #expect(try body("--data-urlencode n@data") == Data("n=a%0D%0Ab%00c%0A".utf8))
        #expect(try body("--json @data") == Data("a\r\nb\0c\n".utf8))
        #expect(throws: CURLParsingError.unreadableFile(option: "-d", path: "none")) { try body("-d @none") }
    }

    @Test("-F makes the form that curl would make")
    func form() throws {
        let folder = try TemporaryFolder()
        try Data("PNG".utf8).write(to: folder.file("a.png"))
        let options =
            #"-F name=Ada -F 'f=@a.png' -F 'g=@"a.png";type=text/x;charset=utf-8;filename="q\"x"' -F 't=<a.png' -F 'j={};type=application/json' --form-string 's=@x;y'"#
        let request = try URLRequest(cURL: "curl \(options) h.example", readingFilesIn: folder.url)
        let type = try #require(request.value(forHTTPHeaderField: "Content-Type"))
        let boundary = try #require(type.split(separator: "=").last)
        let text = String(decoding: try #require(request.httpBody), as: UTF8.self)
        let parts = text.components(separatedBy: "--\(boundary)").dropFirst().dropLast()
        #expect(request.httpMethod == "POST")
        #expect(
            Array(parts) == [
                "\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nAda\r\n",
                "\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.png\"\r\nContent-Type: image/png\r\n\r\nPNG\r\n",
                "\r\nContent-Disposition: form-data; name=\"g\"; filename=\"q%22x\"\r\nContent-Type: text/x;charset=utf-8\r\n\r\nPNG\r\n",
                "\r\nContent-Disposition: form-data; name=\"t\"\r\n\r\nPNG\r\n",
                "\r\nContent-Disposition: form-data; name=\"j\"\r\nContent-Type: application/json\r\n\r\n{}\r\n",
                "\r\nContent-Disposition: form-data; name=\"s\"\r\n\r\n@x;y\r\n",
            ])
        let typed = try URLRequest(cURL: "curl -F a=b -H 'Content-Type: multipart/form-data' h.example")
        #expect(typed.value(forHTTPHeaderField: "Content-Type")?.contains("boundary=") == true)
    }

    @Test("there and back: the command of a request makes the same request")
    func roundTrip() throws {
        var generator = SeededGenerator(seed: 5)
        let server = try #require(URL(string: "http://127.0.0.1:8080"))
        for number in 0..<300 {
            let request = GeneratedRequest(&generator, server: server, number: number).request
            let command = request.cURLDescription()
            // Control characters need a shell.
            guard !command.contains("printf") else { continue }
            let parsed = try URLRequest(cURL: command)
            #expect(parsed.httpMethod == request.httpMethod, "\(command)")
            #expect(parsed.url == request.url, "\(command)")
            #expect(parsed.allHTTPHeaderFields == request.allHTTPHeaderFields, "\(command)")
            #expect(parsed.httpBody ?? Data() == request.httpBody ?? Data(), "\(command)")
        }
    }

    @Test("any text at all gives a request or an error")
    func anything() {
        var generator = SeededGenerator(seed: 6)
        let words = [
            "curl", "-d", "-H", "-F", "'", "\"", "$'", "\\", "a=@b", "https://h.example/", "-X", "--", "-", "|", "$",
            "\\x", "{", "@", ";",
        ]
        for _ in 0..<2000 {
            let count = Int.random(in: 0..<10, using: &generator)
            let text = (0..<count).map { _ in words.randomElement(using: &generator) ?? "" }.joined(
                separator: Bool.random(using: &generator) ? " " : "")
            _ = try? URLRequest(cURL: "curl " + text + generator.text())
        }
    }
}
