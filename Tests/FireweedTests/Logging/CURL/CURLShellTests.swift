import Fireweed
import FireweedTesting
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

/// The judge is `curl` itself, in a shell.
@Suite("curl commands in a shell", .timeLimit(.minutes(TestTimeouts.minutes)))
struct CURLShellTests {
    let server: FixtureServer
    let folder: TemporaryFolder

    init() throws {
        server = try FixtureServer.start()
        folder = try TemporaryFolder()
        server.route("/guarded") { request in
            guard request.field("Authorization") == nil else { return .text("in") }
            return FixtureResponse(status: 401, fields: [("WWW-Authenticate", "Basic realm=\"r\"")])
        }
    }

    /// What a server can tell of two requests.
    private struct Sent: Equatable, CustomStringConvertible {
        let method: String
        let target: String
        let fields: [String]
        let body: Data

        init(_ request: ReceivedRequest) {
            method = request.method
            // curl forgets an empty query when it answers a challenge.
            let isAnswer = request.field("Authorization") != nil
            target = isAnswer && request.target.hasSuffix("?") ? String(request.target.dropLast()) : request.target
            fields = request.fields.map { "\($0.name.lowercased()): \($0.value)" }.sorted()
            body = request.body
        }

        var description: String {
            "\(method) \(target)\n\(fields.joined(separator: "\n"))\n\(body.prefix(200) as NSData)"
        }
    }

    /// What came since the last call, by the number that each request carries.
    private func received(from start: Int) -> [String: [Sent]] {
        Dictionary(grouping: server.requests[start...]) { $0.field("X-Number") ?? "none" }.mapValues {
            $0.map(Sent.init)
        }
    }

    /// Runs commands in one shell, one after the other, each behind its prompt.
    private func run(_ commands: [String], in shell: String, input: Data = Data()) async throws {
        let lines = try commands.map { command in
            try #require(command.hasPrefix("$ "))
            return "\(command.dropFirst(2)) >/dev/null 2>>errors"
        }
        let script = folder.file("script.sh")
        try (lines.joined(separator: "\n") + "\n").write(to: script, atomically: true, encoding: .utf8)
        // Without the user's own settings of curl.
        let arguments = ["HOME=\(folder.url.path)", "timeout", "120", shell, script.path]
        let output = try await Program.run("env", arguments, input: input, in: folder.url)
        #expect(output.errors.isEmpty, "\(output.errors.prefix(500))")
    }

    /// A request made and described, and never sent by this session.
    private func description(_ generated: GeneratedRequest, isPlain: Bool) -> String {
        let session = session(isPlain, .eager)
        let request = session.request(generated.request, shouldAutomaticallyResume: false)
        authenticate(request, generated)
        return request.cURLDescription()
    }

    private func session(_ isPlain: Bool, _ setup: Session.RequestSetup) -> Session {
        let configuration = URLSessionConfiguration.af.ephemeral
        if isPlain { configuration.headers = [] }
        return Session(configuration: configuration, requestSetup: setup, eventMonitors: [])
    }

    private func authenticate(_ request: Request, _ generated: GeneratedRequest) {
        guard let credential = generated.credential else { return }
        request.authenticate(username: credential.user, password: credential.password)
    }

    @Test("what is printed sends what Fireweed sends", arguments: [("sh", UInt64(1)), ("sh", 2), ("bash", 3)])
    func same(shell: String, seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        let requests = (0..<110).map { GeneratedRequest(&generator, server: server.url, number: $0) }
        let sessions = [session(true, .lazy), session(false, .lazy)]
        for (index, generated) in requests.enumerated() {
            let request = sessions[index % 2].request(generated.request)
            authenticate(request, generated)
            _ = await request.serializingData(emptyResponseCodes: Set(100..<600)).response
        }
        let ours = received(from: 0)
        let start = server.requests.count
        #expect(ours.count == requests.count)
        let commands = requests.enumerated().map { description($1, isPlain: $0 % 2 == 0) }
        try await run(commands, in: shell)
        let theirs = received(from: start)
        for number in requests.indices {
            let (mine, other) = (ours["\(number)"] ?? [], theirs["\(number)"] ?? [])
            #expect(mine == other, "\(commands[number])")
        }
    }

    @Test("uploads of bytes, files, streams and forms", arguments: ["sh", "bash"])
    func uploads(shell: String) async throws {
        let file = folder.file("it's a \"$file\"; *.txt")
        try Data((0..<70_000).map { UInt8(truncatingIfNeeded: $0 * 7) }).write(to: file)
        let bytes = Data([0, 13, 10, 255, 39, 92, 37])
        func uploads(_ session: Session) -> [UploadRequest] {
            let url = server.url("/anything")
            let form = MultipartFormData(boundary: "B")
            form.append(bytes, withName: "it's \"one\"\r\n")
            form.append(file, withName: "f")
            form.append(Data(), withName: "empty")
            func headers(_ number: Int) -> HTTPHeaders { ["X-Number": "\(number)"] }
            return [
                session.upload(bytes, to: url, headers: headers(0)), session.upload(file, to: url, headers: headers(1)),
                session.upload(Data(), to: url, method: .delete, headers: headers(2)),
                session.upload(multipartFormData: form, to: url, headers: headers(3)),
                session.upload(multipartFormData: form, to: url, usingThreshold: 0, headers: headers(4)),
            ]
        }
        let sender = session(false, .lazy)
        for upload in uploads(sender) { _ = await upload.serializingData().response }
        let ours = received(from: 0)
        let start = server.requests.count
        let silent = Session(
            configuration: .af.ephemeral, startRequestsImmediately: false, requestSetup: .eager, eventMonitors: [])
        let commands = uploads(silent).map { $0.cURLDescription() }
        try await run(commands, in: shell)
        let theirs = received(from: start)
        #expect(ours.count == 5)
        for number in 0..<5 { #expect(ours["\(number)"] == theirs["\(number)"], "\(commands[number])") }
    }

    @Test("a stream's bytes are taken from standard input")
    func stream() async throws {
        let silent = Session(
            configuration: .af.ephemeral, startRequestsImmediately: false, requestSetup: .eager, eventMonitors: [])
        let upload = silent.upload(InputStream(data: Data("x".utf8)), to: server.url("/anything"))
        try await run([upload.cURLDescription()], in: "sh", input: Data("from standard input\0".utf8))
        #expect(server.requests.last?.body == Data("from standard input\0".utf8))
    }
}
