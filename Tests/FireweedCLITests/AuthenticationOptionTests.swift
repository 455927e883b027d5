import CommandLanguage
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@testable import FireweedCLI

@Suite("Credentials on the command line", .timeLimit(.minutes(TestTimeouts.minutes)))
struct AuthenticationOptionTests {
    let server: FixtureServer
    let folder: TemporaryFolder

    init() throws {
        server = try FixtureServer.start()
        folder = try TemporaryFolder()
    }

    private func run(_ arguments: String..., environment: [String: String] = [:]) throws -> CommandResult {
        try Command.run(arguments, in: folder.url, environment: environment)
    }

    @Test(
        "each type of credentials opens what it is for",
        arguments: [
            (["--auth", "u:p"], "/hidden-basic-auth/u/p"), (["-a", "u:p", "--auth-type", "basic"], "/basic-auth/u/p"),
            (["-a", "u:p:q"], "/basic-auth/u/p:q"), (["--auth-type=digest", "-a", "u:p"], "/digest-auth/auth/u/p"),
            (["--auth-type=digest", "-a", "u:p"], "/digest-auth/auth/u/p/SHA-256"),
            (["--auth-type=bearer", "-a", "token"], "/bearer"),
        ])
    func types(options: [String], path: String) throws {
        let result = try Command.run(
            options + ["--check-status", server.url(path).absoluteString], in: folder.url)
        #expect(result.code == 0 && result.object?["authenticated"] as? Bool == true, "\(result.errors)")
    }

    @Test("wrong credentials end in the 401", arguments: ["basic", "digest", "ntlm", "negotiate"])
    func wrong(type: String) throws {
        let path = type == "digest" ? "/digest-auth/auth/u/p" : "/basic-auth/u/p"
        let url = server.url(path).absoluteString
        #expect(try run("--check-status", "--auth-type", type, "-a", "u:wrong", url).code == 4)
    }

    @Test("credentials are for the origin of the URL alone")
    func otherOrigin() throws {
        let other = try FixtureServer.start()
        for options in [["-a", "u:p"], ["-a", "t", "--auth-type", "bearer"]] {
            let target = server.url("/redirect-to?url=\(other.url("/anything").absoluteString)").absoluteString
            let result = try Command.run(options + [target], in: folder.url)
            let headers = result.object?["headers"] as? [String: String]
            #expect(headers != nil && headers?["Authorization"] == nil)
        }
        #expect(server.requests.allSatisfy { $0.field("Authorization") != nil })
    }

    @Test(
        "what cannot be is wrong usage",
        arguments: [["--auth-type", "basic"], ["-a", "user"], ["--auth-type", "x", "-a", "u:p"]])
    func usage(options: [String]) throws {
        #expect(try Command.run(options + [server.url("/get").absoluteString], in: folder.url).code == 64)
    }

    @Test("--netrc takes what the file says, and says where it is wrong")
    func netrc() throws {
        let file = folder.file("netrc")
        try "machine 127.0.0.1 login u password p".write(to: file, atomically: true, encoding: .utf8)
        let url = server.url("/basic-auth/u/p").absoluteString
        #expect(try run("--check-status", url, environment: ["NETRC": file.path]).code == 4)
        #expect(try run("--check-status", "--netrc", url, environment: ["NETRC": file.path]).code == 0)
        let home = folder.file(".netrc")
        try FileManager.default.moveItem(at: file, to: home)
        let atHome = try run("--check-status", "--netrc", url, environment: ["NETRC": "", "HOME": folder.url.path])
        #expect(atHome.code == 0)
        // Without a home in the environment the account's counts, and never the folder that the command runs in, where
        // a valid file is.
        let elsewhere = try run("--check-status", "--netrc", url, environment: ["NETRC": "", "HOME": ""])
        #expect(elsewhere.code != 0)
        try "machine h login \"secret".write(to: home, atomically: true, encoding: .utf8)
        let broken = try run("--netrc", url, environment: ["NETRC": home.path])
        #expect(broken.code == 64 && broken.errors.contains("Line 1") && !broken.errors.contains("secret"))
    }

    // MARK: Sessions

    @Test("a session keeps cookies and credentials between runs, in a file for the owner alone")
    func session() throws {
        let home = ["XDG_CONFIG_HOME": folder.url.path]
        let set = server.url("/cookies/set?a=1").absoluteString
        let (cookies, guarded) = (server.url("/cookies").absoluteString, server.url("/basic-auth/u/p").absoluteString)
        #expect(try run("--session", "work", set, environment: home).code == 0)
        #expect(try run("--session=work", "-a", "u:p", guarded, environment: home).code == 0)
        let kept = try run("--session", "work", cookies, environment: home)
        #expect(kept.object?["cookies"] as? [String: String] == ["a": "1"])
        #expect(try run("--session", "work", "--check-status", guarded, environment: home).code == 0)
        #expect(try run("--session", "other", "--check-status", guarded, environment: home).code == 4)
        #expect(try run("--check-status", guarded, environment: home).code == 4)
        let deleted = server.url("/cookies/delete?a").absoluteString
        #expect(try run("--session", "work", deleted, environment: home).object?["cookies"] as? [String: String] == [:])
        #expect(try run("--session", "work", cookies, environment: home).object?["cookies"] as? [String: String] == [:])

        let sessions = folder.file("fireweed/sessions")
        let names = try FileManager.default.contentsOfDirectory(atPath: sessions.path).sorted()
        #expect(names == ["other.json", "work.json"])
        let file = try FileManager.default.attributesOfItem(atPath: sessions.appendingPathComponent("work.json").path)
        #expect(file[.posixPermissions] as? Int == 0o600)
        let own = try FileManager.default.attributesOfItem(atPath: sessions.path)
        #expect(own[.posixPermissions] as? Int == 0o700)
    }

    @Test("credentials of a session go to no other origin")
    func sessionOrigin() throws {
        let other = try FixtureServer.start()
        let file = folder.file("here.json").path
        #expect(try run("--session", file, "-a", "u:p", server.url("/basic-auth/u/p").absoluteString).code == 0)
        _ = try run("--session", file, other.url("/get").absoluteString)
        #expect(other.requests.map { $0.field("Authorization") } == [nil])
    }

    @Test("a session keeps header fields for their origin, but those of content and of conditions")
    func sessionFields() throws {
        let other = try FixtureServer.start()
        let file = folder.file("fields.json").path
        let url = server.url("/get").absoluteString
        #expect(
            try run(
                "--session", file, url, "X-Token:1", "X-Two:a", "X-Two:b", "If-Match:e", "Content-X:c", "Cookie:k=v"
            ).code == 0)
        _ = try run("--session", file, url)
        _ = try run("--session", file, url, "x-token:2", "X-Two:")
        _ = try run("--session", file, url)
        _ = try run("--session", file, other.url("/get").absoluteString)
        #expect(server.requests.map { $0.field("X-Token") } == ["1", "1", "2", "2"])
        #expect(server.requests.map { $0.field("X-Two") != nil } == [true, true, false, true])
        #expect(server.requests.dropFirst().allSatisfy { $0.field("If-Match") == nil && $0.field("Content-X") == nil })
        #expect(server.requests.last?.field("Cookie") == "k=v")
        #expect(other.requests.map { $0.field("X-Token") } == [nil])
    }

    @Test("runs of one session beside one another lose nothing")
    func parallelRuns() async throws {
        let url = server.url("/cookies/set").absoluteString
        let runs = try (1...8).map { number in
            try RunningCommand(
                ["--session", "./s.json", "\(url)?c\(number)=1", "X-\(number):1"], in: folder.url, hasInput: false)
        }
        for run in runs { #expect(await run.rest().code == 0) }
        let saved = try SessionFile(name: folder.file("s.json").path).load()
        #expect(Set(saved.cookies.map(\.name)) == Set((1...8).map { "c\($0)" }))
        #expect(saved.fields?.count == 8)
    }

    @Test("what a run has removed stays removed, and what another run has added stays")
    func merging() {
        func cookie(_ name: String, _ value: String) -> SavedSession.Cookie {
            .init(name: name, value: value, domain: "h.example", path: "/", isSecure: false, isHTTPOnly: false)
        }
        var (old, new, present) = (SavedSession(), SavedSession(), SavedSession())
        old.cookies = [cookie("gone", "1"), cookie("kept", "1"), cookie("changed", "1")]
        new.cookies = [cookie("kept", "1"), cookie("changed", "2")]
        present.cookies = old.cookies + [cookie("added", "1")]
        let merged = present.merging(from: old, to: new)
        #expect(merged.cookies == [cookie("added", "1"), cookie("changed", "2"), cookie("kept", "1")])
    }

    @Test("a file that was open to others is closed to them; a broken one is an error, and stays as it is")
    func sessionFile() throws {
        let file = folder.file("s.json")
        try Data(#"{"version":1,"cookies":[],"credentials":[]}"#.utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path)
        #expect(try run("--session", file.path, server.url("/get").absoluteString).code == 0)
        #expect(try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int == 0o600)
        try Data("{".utf8).write(to: file)
        let broken = try run("--session", file.path, server.url("/get").absoluteString)
        #expect(broken.code == 64 && broken.errors.contains("session file"))
        #expect(try Data(contentsOf: file) == Data("{".utf8))
    }

    @Test("a name is a plain one, or a path", arguments: ["../x", "a/../../b", ".hidden", "a b", "", "a\n"])
    func sessionNames(name: String) throws {
        guard !name.contains("/") else {
            let file = try SessionFile(name: name)
            #expect(file.url.path.hasPrefix("/"))
            return
        }
        #expect(throws: UsageError.self) {
            _ = try ArgumentParser.parse(["--session", name, "localhost"])
            _ = try SessionFile(name: name)
        }
    }

    @Test("a session keeps cookies that are not UTF-8, octet by octet")
    func octetsInSession() async throws {
        let home = ["XDG_CONFIG_HOME": folder.url.path]
        var head = Data("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nSet-Cookie: a=caf".utf8)
        head.append(contentsOf: [0xE9])
        head.append(Data("; Path=/\r\n\r\n".utf8))
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
        let origin = try ScriptedServer.start(
            [.receiveHead, .sendData(head), .close], [.receiveHead, .send(answer), .close],
            [.receiveHead, .send(answer), .close])
        for _ in 0..<3 {
            #expect(try run("--session", "octets", origin.url().absoluteString, environment: home).code == 0)
        }
        let heads = origin.events.events.compactMap { if case .head(_, let head) = $0 { head } else { nil } }
        // The octet E9 is no UTF-8, and recorded as a replacement character.
        #expect(heads.map { $0.contains("\r\nCookie: a=caf\u{FFFD}\r\n") } == [false, true, true], "\(heads)")
    }

    @Test("what is saved is read again, cookie by cookie")
    func savedSession() throws {
        let storage = URLSessionConfiguration.ephemeral.httpCookieStorage
        var saved = SavedSession()
        saved.cookies = [
            .init(name: "a", value: "1", domain: ".example.com", path: "/", isSecure: true, isHTTPOnly: true),
            .init(
                name: "b", value: "\"2\"", domain: "example.com", path: "/x", expires: 4_000_000_000, isSecure: false,
                isHTTPOnly: false),
        ]
        saved.restoreCookies(in: storage)
        var again = SavedSession()
        again.takeCookies(from: storage)
        #expect(again.cookies == saved.cookies)
        again.takeCookies(from: storage, now: Date(timeIntervalSince1970: 4_000_000_001))
        #expect(again.cookies.map(\.name) == ["a"])
    }
}
