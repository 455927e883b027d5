import FixtureServer
import Foundation
import Testing

/// In a process of its own, under strace(1).
@Suite("System calls of event loops", .timeLimit(.minutes(2 * TestTimeouts.minutes)))
struct LoopSystemCallTests {
    /// Files that a loop uses nevertheless.
    private struct Exception {
        let reason: String
        /// The files, and folders with all that is in them.
        let paths: [String]

        func covers(_ call: SystemCall) -> Bool {
            paths.contains { call.path == $0 || call.path?.hasPrefix("\($0)/") == true }
        }
    }

    /// Each has to be needed: the test fails for one that no call of a loop falls under.
    private static func exceptions(_ plan: Plan) -> [Exception] {
        [
            Exception(
                reason: "until TLS contexts are made elsewhere: their authorities are read",
                paths: [plan.authority.path, plan.authorities.path]),
            Exception(
                reason: "until key logs are written elsewhere", paths: [plan.folder.appending(path: "secrets").path]),
        ]
    }

    private struct Plan: Encodable {
        let plain, secure, authority, authorities, certificate, key: URL
        let proxyPort: UInt16
        let socket: String
        let folder: URL
    }

    @Test("no loop's thread opens, examines, syncs, reads or writes a file, and none connects and waits")
    func wholeWay() async throws {
        let authority = try CertificateAuthority()
        let identity = try authority.issue(purpose: "clientAuth")
        let server = try FixtureServer.start()
        let nginx = try NginxServer(
            certificate: try authority.issue(["DNS:localhost", "DNS:fireweed.example"]), clientAuthority: authority,
            forwardingTo: server.url("/"))
        let proxy = try HTTPProxyServer()
        let folder = try TemporaryFolder()
        let socket = folder.file("s").path
        let local = try FixtureServer.start(unixSocketPath: socket)
        let authorities = folder.file("authorities")
        let files = folder.file("files")
        for folder in [authorities, files] {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        }
        try FileManager.default.copyItem(at: authority.certificate, to: authorities.appending(path: "authority.pem"))
        #expect(try await Program.run("openssl", ["rehash", authorities.path], in: folder.url).code == 0)
        let plan = Plan(
            plain: server.url("/"), secure: try #require(nginx.secureURL), authority: authority.certificate,
            authorities: authorities, certificate: identity.certificate, key: identity.key, proxyPort: proxy.port,
            socket: socket, folder: files)
        let file = folder.file("calls")
        // The turn watch would write its reports on the loop's thread.
        let output = try await Program.run(
            "env",
            [
                "-u", "FIREWEED_TURN_LIMIT", "strace", "-f", "--seccomp-bpf", "-y", "-s", "200", "-e",
                "trace=\(LoopJudge.traced)", "-o", file.path,
                TestPrograms.url.path, "process", "whole-way",
            ], input: try JSONEncoder().encode(plan), in: folder.url)
        withExtendedLifetime((local, nginx, proxy)) {}
        try #require(output.code == 0 && output.text.isEmpty, "\(output.code) \(output.text) \(output.errors)")
        let trace = SystemCallTrace(try String(contentsOf: file, encoding: .utf8))
        let loops = trace.threads(named: "fireweed-loop")
        try #require(!loops.isEmpty)
        // The trace shows the files of other threads.
        let others = Set(trace.calls.filter { !loops.contains($0.thread) }.compactMap(\.path))
        for name in ["hosts", "responses", "cookies", "downloaded", "content.bin", "pipe"] {
            #expect(others.contains { $0.hasSuffix("/\(name)") }, "\(name)")
        }
        var unused = Self.exceptions(plan)
        for call in LoopJudge.waitingCalls(of: trace, on: loops) {
            #expect(Self.exceptions(plan).contains { $0.covers(call) }, "\(call)")
            unused.removeAll { $0.covers(call) }
        }
        #expect(unused.isEmpty, "no loop needs these any more")
    }

    @Test(
        "calls that may wait are told from those that do not",
        arguments: [
            (#"openat(AT_FDCWD</>, "/etc/hosts", O_RDONLY) = 3</etc/hosts>"#, true),
            (#"newfstatat(3</etc/hosts>, "", {st_mode=S_IFREG|0644, ...}, AT_EMPTY_PATH) = 0"#, true),
            (#"access("/etc/hosts", R_OK) = -1 ENOENT (No such file or directory)"#, true),
            (#"read(3</etc/hosts>, "127.0.0.1 localhost", 4096) = 19"#, true),
            (#"read(3<socket:[17]>, "GET /a) = 1", 4096) = 11"#, false),
            (#"read(5<anon_inode:[eventfd]>, "\1\0\0\0\0\0\0\0", 8) = 8"#, false),
            (#"write(4</tmp/keys>, "/etc/hosts", 10) = 10"#, true),
            ("fsync(4</tmp/keys>) = 0", true),
            (#"fcntl(9<socket:[18]>, F_SETFL, O_RDWR) = 0"#, false),
            (#"connect(7<socket:[19]>, {sa_family=AF_INET, ...}, 16) = -1 EINPROGRESS (Operation)"#, false),
            (#"connect(8<socket:[20]>, {sa_family=AF_INET, ...}, 16) = 0"#, true),
            ("poll([{fd=7<socket:[19]>, events=POLLIN}], 1, 0) = 0 (Timeout)", false),
            ("poll([{fd=7<socket:[19]>, events=POLLIN}], 1, 100) = 0 (Timeout)", true),
            ("clock_nanosleep(CLOCK_REALTIME, 0, {tv_sec=0, tv_nsec=1}, NULL) = 0", true),
        ])
    func judge(call: String, mayWait: Bool) {
        let start = """
            10 prctl(PR_SET_NAME, "fireweed-loop-0") = 0
            10 socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC|SOCK_NONBLOCK, IPPROTO_TCP) = 7<socket:[19]>
            10 socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC, IPPROTO_TCP <unfinished ...>
            11 openat(AT_FDCWD</>, "/etc/services", O_RDONLY) = 3</etc/services>
            10 <... socket resumed>) = 8<socket:[20]>

            """
        for (thread, isFound) in [("10", mayWait), ("11", false)] {
            let trace = SystemCallTrace("\(start)\(thread) \(call)\n")
            #expect(trace.threads(named: "fireweed-loop") == ["10"])
            #expect(trace.calls.count == 5)
            #expect(LoopJudge.waitingCalls(of: trace, on: ["10"]).count == (isFound ? 1 : 0))
        }
    }

    @Test(
        "the file of a call is told",
        arguments: [
            (#"openat(AT_FDCWD</work>, "/etc/hosts", O_RDONLY) = 3</etc/hosts>"#, "/etc/hosts"),
            (#"openat(AT_FDCWD</work>, "hosts", O_RDONLY) = 3</work/hosts>"#, "/work/hosts"),
            (#"newfstatat(3</etc/hosts>, "", {st_mode=S_IFREG|0644, ...}, AT_EMPTY_PATH) = 0"#, "/etc/hosts"),
            (#"newfstatat(3</etc/ssl>, "a.pem", {st_mode=S_IFREG|0644, ...}, 0) = 0"#, "/etc/ssl/a.pem"),
            (#"access("/etc/hosts", R_OK) = -1 ENOENT (No such file or directory)"#, "/etc/hosts"),
            (#"write(4</tmp/keys>, "/etc/hosts", 10) = 10"#, "/tmp/keys"),
            (#"read(3<socket:[17]>, "GET /a", 4096) = 6"#, nil),
            ("clock_nanosleep(CLOCK_REALTIME, 0, {tv_sec=0, tv_nsec=1}, NULL) = 0", nil),
        ])
    func path(call: String, path: String?) {
        #expect(SystemCallTrace("10 \(call)\n").calls.map(\.path) == [path])
    }
}
