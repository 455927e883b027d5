// A WebSocket server that nobody here wrote: the `websockets` package for Python.

public import Foundation

/// A Python server of our own on a free loopback port; it ends with its last reference.
///
/// Paths: `/echo` sends back what comes; `/headers` sends the handshake's fields as JSON; `/close?code=4000&reason=x` closes;
/// `/flood?count=9&size=10` sends messages; `/fragments` sends one message in three frames; `/deaf` never answers pings or closes;
/// `/ping` pings and then sends `pong`; `/redirect?to=URL`, `/status?code=404` and `/basic` answer the handshake otherwise; `/cookie`
/// sets one.
public final class WebSocketServer: Sendable {
    /// A plain server that all tests of a process share: Python takes a while to start.
    public static var shared: WebSocketServer { get throws { try plain.get() } }
    private static let plain = Result { try WebSocketServer() }
    private static let package = Result {
        try ChildProcess.run(
            "python3", ["-c", "import websockets"], package: "python3", in: FileManager.default.temporaryDirectory)
    }

    /// The port.
    public let port: UInt16
    private let scheme: String
    private let process: ChildProcess

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - certificate: makes the server speak TLS as `localhost`.
    ///   - clientAuthority: the authority whose client certificates are demanded.
    ///   - subprotocols: what the server may choose from.
    ///   - compression: the parameters of permessage-deflate, as keyword arguments of `ServerPerMessageDeflateFactory`; `nil` for none.
    public init(
        certificate: CertificateAuthority.Issued? = nil, clientAuthority: CertificateAuthority? = nil,
        subprotocols: [String] = [], compression: [String: Int]? = nil
    ) throws {
        guard case .success = Self.package else {
            throw ServerError(description: "python3-websockets is missing: apt-get install python3-websockets")
        }
        port = try LoopbackSocket.freePort()
        scheme = certificate == nil ? "ws" : "wss"
        let settings: [String: Any] = [
            "port": Int(port), "subprotocols": subprotocols, "compression": compression ?? NSNull(),
            "certificate": certificate?.certificate.path ?? "", "key": certificate?.key.path ?? "",
            "authority": clientAuthority?.certificate.path ?? "",
        ]
        let text = String(decoding: try JSONSerialization.data(withJSONObject: settings), as: UTF8.self)
        process = try ChildProcess("python3", ["-c", Self.script, text], package: "python3-websockets")
        try ChildProcess.waitForPort(port)
    }

    /// The URL of a path, `ws` or `wss`.
    public func url(_ path: String) -> URL {
        let host = scheme == "ws" ? "127.0.0.1" : "localhost"
        return URL(string: "\(scheme)://\(host):\(port)\(path)") ?? URL(fileURLWithPath: "/")
    }

    /// Ends the server, and every connection with it.
    public func stop() {
        process.stop()
    }

    private static let script = #"""
        import asyncio, base64, http, json, ssl, sys, urllib.parse
        import websockets
        from websockets.extensions.permessage_deflate import ServerPerMessageDeflateFactory

        settings = json.loads(sys.argv[1])

        def query(path):
            return {k: v[0] for k, v in urllib.parse.parse_qs(urllib.parse.urlsplit(path).query).items()}

        async def process_request(path, headers):
            name, given = urllib.parse.urlsplit(path).path, query(path)
            if name == "/redirect":
                return http.HTTPStatus.FOUND, [("Location", given["to"])], b""
            if name == "/status":
                return http.HTTPStatus(int(given["code"])), [], b"no"
            if name == "/basic":
                wanted = "Basic " + base64.b64encode(b"user:secret").decode()
                if headers.get("Authorization") != wanted:
                    return http.HTTPStatus.UNAUTHORIZED, [("WWW-Authenticate", 'Basic realm="x"')], b""
            return None

        async def handler(ws):
            name, given = urllib.parse.urlsplit(ws.path).path, query(ws.path)
            if name == "/headers" or name == "/basic":
                await ws.send(json.dumps({k.lower(): v for k, v in ws.request_headers.raw_items()}))
            elif name == "/close":
                await ws.close(int(given["code"]), given.get("reason", ""))
            elif name == "/flood":
                for index in range(int(given["count"])):
                    await ws.send(bytes(int(given["size"])))
            elif name == "/fragments":
                await ws.send(["one, ", "two, ", "three"])
                await ws.wait_closed()
            elif name == "/ping":
                await (await ws.ping(b"hello"))
                await ws.send("pong")
            elif name == "/deaf":
                ws.transport.pause_reading()
                await asyncio.sleep(3600)
            else:
                async for message in ws:
                    await ws.send(message)

        def extra_headers(path, headers):
            return [("Set-Cookie", "flavour=plain; Path=/")] if path == "/cookie" else []

        async def main():
            context = None
            if settings["certificate"]:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(settings["certificate"], settings["key"])
                if settings["authority"]:
                    context.load_verify_locations(settings["authority"])
                    context.verify_mode = ssl.CERT_REQUIRED
            extensions = None
            if settings["compression"] is not None:
                given = {k: (bool(v) if "takeover" in k else v) for k, v in settings["compression"].items()}
                extensions = [ServerPerMessageDeflateFactory(**given)]
            async with websockets.serve(
                handler, "127.0.0.1", settings["port"], ssl=context, max_size=None, max_queue=4, compression=None,
                ping_interval=None, extensions=extensions, process_request=process_request, extra_headers=extra_headers,
                subprotocols=settings["subprotocols"] or None,
            ):
                await asyncio.Future()

        asyncio.run(main())
        """#
}
