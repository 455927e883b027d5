// A relay that adds TLS to servers, or whose connections can be cut.

import FireweedTesting
public import Foundation

/// Relays connections from loopback ports to other loopback ports, in a Python process that ends when this object is
/// released.
public final class SecureRelay: Sendable {
    /// The relay's reports, one line each: `relayed N` when the first 700 bytes from the server on connection N have
    /// been forwarded.
    public let events = EventLog<String>()
    private let process: ChildProcess
    private let ports: [UInt16: UInt16]
    private let controlPort: UInt16
    private let isSecure: Bool

    /// Starts a relay that speaks TLS with clients, and clear text with servers.
    public convenience init(_ chain: [CertificateGenerator.Issued], to targets: [UInt16]) throws {
        guard let leaf = chain.first else { throw ServerError(description: "no certificate") }
        let file = leaf.certificate.deletingPathExtension().appendingPathExtension("\(UUID()).chain")
        try chain.map(\.pem).joined().write(to: file, atomically: true, encoding: .utf8)
        try self.init(["certificate": file.path, "key": leaf.key.path], to: targets)
    }

    /// Starts a relay that forwards bytes unchanged.
    ///
    /// Connection N is closed after `cuts[N]` bytes from the server; connections without a cut are not closed. Bytes
    /// are forwarded in pieces of at most `piece`, a millisecond apart, or without a pause for `nil`. With `junk`, a
    /// connection is not closed at its cut: 20 ms later, the rest of the received bytes and `junk` bytes `A` are
    /// forwarded.
    public convenience init(to target: UInt16, cuts: [Int] = [], piece: Int? = nil, junk: Int? = nil) throws {
        var settings: [String: Any] = ["cuts": cuts]
        settings["piece"] = piece
        settings["junk"] = junk
        try self.init(settings, to: [target])
    }

    private init(_ settings: [String: Any], to targets: [UInt16]) throws {
        isSecure = settings["certificate"] != nil
        var settings = settings
        settings["targets"] = targets.map { Int($0) }
        let text = String(decoding: try JSONSerialization.data(withJSONObject: settings), as: UTF8.self)
        let output = Pipe.closedOnExec()
        process = try ChildProcess(
            "python3", ["-u", "-c", Self.script, text], package: "python3", output: output.fileHandleForWriting)
        try output.fileHandleForWriting.close()
        let reader = LineReader(output.fileHandleForReading)
        let made = reader.next()?.split(separator: " ").compactMap { UInt16($0) } ?? []
        guard made.count == targets.count + 1 else { throw ServerError(description: "the relay did not start") }
        controlPort = made[targets.count]
        ports = Dictionary(zip(targets, made)) { first, _ in first }
        Thread { [events] in
            while let line = reader.next() { events.record(line) }
        }.start()
    }

    /// Returns the URL that reaches a server's URL through the relay, with the host `localhost`.
    public func url(for url: URL) -> URL {
        var components = URLComponents(url: url, resolvingAgainstBaseURL: false)
        if isSecure { components?.scheme = "https" }
        components?.host = "localhost"
        components?.port = url.port.flatMap { ports[UInt16(truncatingIfNeeded: $0)] }.map { Int($0) }
        return components?.url ?? url
    }

    /// Closes all open connections of clients, and returns when they are closed.
    public func closeConnections() throws {
        guard let descriptor = ServerSocket.connect(to: controlPort) else {
            throw ServerError(description: "the relay has ended")
        }
        // The relay closes this connection last: reading to its end waits until the clients' connections are closed.
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        _ = handle.contentToEnd()
    }

    private static let script = #"""
        import asyncio, json, ssl, sys

        config = json.loads(sys.argv[1])
        cuts = config.get("cuts", [])
        piece = config.get("piece")
        junk = config.get("junk")
        writers = set()
        count = 0

        async def pump(reader, writer, limit=None, number=None):
            passed = 0
            try:
                while data := await reader.read(piece or 65536):
                    if piece:
                        await asyncio.sleep(0.001)
                    rest = b""
                    if limit is not None:
                        data, rest = data[:limit - passed], data[limit - passed:]
                    writer.write(data)
                    await writer.drain()
                    if number is not None and passed < 700 <= passed + len(data):
                        print("relayed", number, flush=True)
                    passed += len(data)
                    if passed == limit:
                        if junk:
                            await asyncio.sleep(0.02)
                            writer.write(rest + b"A" * junk)
                            await writer.drain()
                            await asyncio.sleep(3600)
                        return
            except OSError:
                pass

        async def relay(target, reader, writer):
            global count
            number = count
            count += 1
            limit = cuts[number] if number < len(cuts) else None
            writers.add(writer)
            far = None
            try:
                if limit == 0:
                    return
                far_reader, far = await asyncio.open_connection("127.0.0.1", target)
                pumps = [asyncio.create_task(pump(reader, far)),
                         asyncio.create_task(pump(far_reader, writer, limit, number))]
                await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
                for task in pumps:
                    task.cancel()
            finally:
                writers.discard(writer)
                writer.close()
                if far:
                    far.close()

        async def control(reader, writer):
            for other in list(writers):
                other.transport.abort() if config.get("certificate") else other.close()
            writer.close()

        async def main():
            context = None
            if config.get("certificate"):
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(config["certificate"], config["key"])
                context.set_alpn_protocols(["http/1.1"])
            servers = []
            for target in config["targets"]:
                handler = lambda reader, writer, target=target: relay(target, reader, writer)
                servers.append(await asyncio.start_server(handler, "127.0.0.1", 0, ssl=context, backlog=128))
            servers.append(await asyncio.start_server(control, "127.0.0.1", 0))
            print(*[server.sockets[0].getsockname()[1] for server in servers], flush=True)
            await asyncio.gather(*[server.serve_forever() for server in servers])

        asyncio.run(main())
        """#
}
