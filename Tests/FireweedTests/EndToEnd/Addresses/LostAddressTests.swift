import FixtureServer
import Foundation
import Testing

@Suite(
    "Connections whose address the machine has lost", .timeLimit(.minutes(TestTimeouts.minutes)),
    .enabled(if: NetworkNamespace.obstacle == nil, "network namespaces are not permitted here"))
struct LostAddressTests {
    /// A server at the other end that answers with the client's address; never to `/waiting` of the first address, and
    /// without an end to `/endless`.
    private func server(_ namespace: NetworkNamespace) async throws -> NamespacedProgram {
        let script = """
            import http.server, sys, threading, time
            def say(text):
                # One write: lines of two threads must not mix.
                sys.stdout.write(f"{time.time_ns()} {text}\\n")
                sys.stdout.flush()
            class Handler(http.server.BaseHTTPRequestHandler):
                protocol_version = "HTTP/1.1"
                def do_GET(self):
                    address = self.client_address[0]
                    say(f"{self.path} {address}")
                    if self.path == "/waiting" and address == "10.77.0.1": threading.Event().wait()
                    self.send_response(200)
                    self.send_header("Content-Length", str(len(address) + 10 * (self.path == "/endless")))
                    self.end_headers()
                    self.wfile.write(address.encode())
                    if self.path == "/endless": threading.Event().wait()
                def log_message(self, *arguments): pass
            server = http.server.ThreadingHTTPServer(("0.0.0.0", 8080), Handler)
            say("listening")
            server.serve_forever()
            """
        let program = try NamespacedProgram(["/usr/bin/python3", "-c", script], in: namespace.peer)
        _ = try await program.time(of: "listening")
        return program
    }

    @Test("after the machine's address is replaced, a pooled GET is answered and a response that came fails at once")
    func replacedAddress() async throws {
        let namespace = try NetworkNamespace()
        let server = try await server(namespace)
        let program = try NamespacedProgram(network: "pooled", "http://10.77.0.2:8080/", in: namespace)
        _ = try await program.time(of: "idle 10.77.0.1")
        _ = try await server.time(of: "/waiting 10.77.0.1")
        // An address that another interface has as well carries its connections on.
        try namespace.ip("addr add 10.77.0.1/32 dev lo")
        try namespace.ip("addr del 10.77.0.1/24 dev veth0")
        try namespace.ip("addr add 10.77.0.1/24 dev veth0")
        try namespace.ip("addr del 10.77.0.1/32 dev lo")
        // Of another length: the kernel removes addresses of one network with the first of them.
        try namespace.ip("addr add 10.77.0.3/25 dev veth0")
        try namespace.ip("addr del 10.77.0.1/24 dev veth0")
        _ = try await program.time(of: "last 10.77.0.3")
        _ = try await server.time(of: "/last 10.77.0.3")
        #expect(
            Set(program.said)
                == [
                    "first 10.77.0.1", "idle 10.77.0.1", "waiting 10.77.0.3", "endless -1005", "last 10.77.0.3",
                ])
        #expect(
            server.said.sorted()
                == [
                    "/endless 10.77.0.1", "/first 10.77.0.1", "/idle 10.77.0.1", "/last 10.77.0.3",
                    "/waiting 10.77.0.1", "/waiting 10.77.0.3", "listening",
                ])
    }
}
