// A world of names of the test's own.

import FixtureServer
import Foundation
import Testing

/// A name server, a hosts file and a resolv.conf for one program, in namespaces that any user may make.
///
/// `good.test` has an IPv4 address, `six.test` an IPv6 address and `internal` an IPv4 address, where a server answers
/// `right`; `staging.test` has an address in the hosts file, and others in DNS. Every name under the search domain
/// `wild.example` has an address of the `wildcard`'s family, where a server answers `wrong`, as it does at the other
/// addresses of `staging.test`. Names of `silent.test` are never answered.
struct NameWorld {
    enum Wildcard: String {
        case ipv4 = "A"
        case ipv6 = "AAAA"
    }

    var wildcard: Wildcard
    /// How many dots a name needs to be looked up before the search domains (resolv.conf(5)).
    var dotCount: Int

    /// Why such a world cannot be made here; `nil` when it can.
    static let obstacle: String? = {
        do {
            _ = try NameWorld(wildcard: .ipv4, dotCount: 1).output(of: "true")
            return nil
        } catch {
            print("SKIPPED: tests with a name server, since namespaces of a user are not permitted here: \(error)")
            return "\(error)"
        }
    }()

    /// What a program prints in this world.
    func output(of program: String, _ arguments: String...) throws -> String {
        let folder = try TemporaryFolder()
        let script = folder.file("world.py")
        try Self.script.write(to: script, atomically: true, encoding: .utf8)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
        process.arguments =
            ["-Urmn", "python3", script.path, folder.url.path, wildcard.rawValue, "\(dotCount)", program] + arguments
        let (output, errors) = (Pipe.closedOnExec(), Pipe.closedOnExec())
        process.standardOutput = output
        process.standardError = errors
        try process.start()
        let text = String(decoding: output.fileHandleForReading.contentToEnd(), as: UTF8.self)
        let complaint = String(decoding: errors.fileHandleForReading.contentToEnd(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw NamespaceFailure(description: complaint) }
        return text
    }

    private static let script = #"""
        import http.server, os, socket, struct, subprocess, sys, threading
        folder, wildcard, dots, program = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
        RIGHT = {"A": "127.0.0.2", "AAAA": "fd00::2"}
        WRONG = {"A": "127.0.0.66", "AAAA": "fd00::66"}
        files = {
            "/etc/resolv.conf": "nameserver 127.0.0.1\nsearch wild.example\n"
                f"options ndots:{dots} timeout:1 attempts:1\n",
            "/etc/hosts": "127.0.0.1 localhost\n127.0.0.2 staging.test\n",
            "/etc/nsswitch.conf": "hosts: files dns\n",
        }
        for path, text in files.items():
            copy = os.path.join(folder, path.replace("/", "-"))
            open(copy, "w").write(text)
            subprocess.run(["mount", "--bind", copy, path], check=True)
        for words in ("link set lo up", "addr add fd00::2/128 dev lo nodad", "addr add fd00::66/128 dev lo nodad"):
            subprocess.run(["ip"] + words.split(), check=True)

        def records(name):
            if name == "staging.test": return WRONG
            if name in ("good.test", "internal"): return {"A": RIGHT["A"]}
            if name == "six.test": return {"AAAA": RIGHT["AAAA"]}
            if name.endswith(".wild.example"): return {wildcard: WRONG[wildcard]}
            return None

        def reply(question):
            labels, at = [], 12
            while question[at]:
                labels.append(question[at + 1:at + 1 + question[at]].decode().lower())
                at += 1 + question[at]
            end = at + 5
            kind = {1: "A", 28: "AAAA"}.get(struct.unpack(">H", question[at + 1:at + 3])[0])
            name = ".".join(labels)
            if name.endswith("silent.test"): return None
            known = records(name)
            found = known.get(kind) if known else None
            flags = 0x8180 if known is not None else 0x8183
            head = question[:2] + struct.pack(">HHHHH", flags, 1, 1 if found else 0, 0, 0)
            answer = b""
            if found:
                data = socket.inet_pton(socket.AF_INET if kind == "A" else socket.AF_INET6, found)
                answer = b"\xc0\x0c" + question[at + 1:end] + struct.pack(">IH", 60, len(data)) + data
            return head + question[12:end] + answer

        names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        names.bind(("127.0.0.1", 53))
        def serve_names():
            while True:
                question, sender = names.recvfrom(2048)
                answer = reply(question)
                if answer: names.sendto(answer, sender)
        threading.Thread(target=serve_names, daemon=True).start()

        class Server(http.server.ThreadingHTTPServer):
            def __init__(self, address, says):
                self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
                self.says = says
                super().__init__((address, 8080), Handler)
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                content = f"{self.server.says} {self.headers['Host']}".encode()
                self.send_response(200); self.send_header("Content-Length", str(len(content))); self.end_headers()
                self.wfile.write(content)
            def log_message(self, *arguments): pass
        for addresses, says in ((RIGHT, "right"), (WRONG, "wrong")):
            for address in addresses.values():
                threading.Thread(target=Server(address, says).serve_forever, daemon=True).start()
        sys.exit(subprocess.run(program).returncode)
        """#
}
