// The program behind `SecurePeer`.

/// A Python program for behaviour that no real server has: TLS by hand, HTTP/2 frame by frame, over TLS or in clear
/// text.
enum PeerScript {
    static let text = #"""
        import json, select, socket, ssl, struct, sys, threading

        config = json.loads(sys.argv[1])
        lock = threading.Lock()

        def tell(*words):
            with lock:
                print(*words, flush=True)

        def context():
            made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            made.load_cert_chain(config["certificate"], config["key"])
            if config.get("maximum") == "1.2":
                made.maximum_version = ssl.TLSVersion.TLSv1_2
            if config.get("protocols"):
                made.set_alpn_protocols(config["protocols"])
            if config.get("clients"):
                made.load_verify_locations(config["clients"])
                made.verify_mode = ssl.CERT_REQUIRED
            return made

        def head(stream):
            data = b""
            while b"\r\n\r\n" not in data:
                piece = stream.recv(65536)
                if not piece:
                    return None
                data += piece
            return data

        # One answer for each request, whose head is told.
        def answer(stream, number):
            while (request := head(stream)) is not None:
                tell("request", number, request.split(b"\r\n")[0].decode("latin-1"))
                tell("bytes", number, len(request))
                stream.sendall(config["answer"].encode("latin-1"))
                if "close" in config["answer"].lower():
                    return

        # CONNECT to loopback, and bytes both ways.
        def proxy(stream, number):
            request = head(stream)
            if request is None:
                return
            target = request.split(b" ")[1].decode()
            tell("connect", number, target)
            far = socket.create_connection(("127.0.0.1", int(target.rsplit(":", 1)[1])))
            stream.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            stream.setblocking(False)
            while True:
                if not stream.pending():
                    select.select([stream, far], [], [])
                try:
                    data = stream.recv(65536)
                    if not data:
                        return
                    far.sendall(data)
                except ssl.SSLWantReadError:
                    pass
                if select.select([far], [], [], 0)[0]:
                    data = far.recv(65536)
                    if not data:
                        return
                    stream.setblocking(True)
                    stream.sendall(data)
                    stream.setblocking(False)

        def frame(kind, flags, stream, payload=b""):
            return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload

        def exactly(stream, count):
            data = b""
            while len(data) < count:
                piece = stream.recv(count - len(data))
                if not piece:
                    raise EOFError
                data += piece
            return data

        DATA, HEADERS, PRIORITY, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
        OK = b"\x88"
        FIELD = b"\x00\x01a\x7f\x81\x01" + b"b" * 256

        def forever(stream, piece, times=1 << 40):
            block = piece * max(1, 16384 // len(piece))
            for _ in range(times):
                stream.sendall(block)

        # Reads on to the end of the request's content.
        def content(stream):
            while True:
                first = exactly(stream, 9)
                exactly(stream, struct.unpack(">I", b"\0" + first[:3])[0])
                if first[3] == DATA and first[4] & 1:
                    return

        # What comes after the request's head, by name; `n` is the request's stream.
        def floods(stream, n, hasContent):
            good = frame(HEADERS, 4, n, OK)
            whole = good + frame(DATA, 1, n, b"hello")
            drops = good + b"".join(frame(DATA, i == 65535, n, bytes([i * 31 & 255])) for i in range(65536)) if "one byte" in config["act"] else b""
            wrong = frame(HEADERS, 4, n, b"\x08\x03421") + frame(DATA, 1, n, b"wrong")
            acts = {
                "answer": lambda: stream.sendall(whole),
                "gate closed, answer": lambda: stream.sendall(whole),
                "one stream at a time, answer": lambda: stream.sendall(whole),
                "refuse three, else answer": lambda: stream.sendall(frame(RST, 0, n, struct.pack(">I", 7)) if n < 7 else whole),
                "interim, answer": lambda: stream.sendall(frame(HEADERS, 4, n, b"\x08\x03103") * 2 + whole),
                "trailers, answer": lambda: stream.sendall(good + frame(DATA, 0, n, b"hello") + frame(HEADERS, 5, n, b"\x00\x08checksum\x0242")),
                "head, no answer": lambda: stream.sendall(good),
                "head and content, no answer": lambda: stream.sendall(good + frame(DATA, 0, n, b"hello")),
                "no answer": lambda: None,
                "goaway": lambda: forever(stream, frame(GOAWAY, 0, 0, struct.pack(">II", 0x7FFFFFFF, 0))),
                "goaway refusing": lambda: stream.sendall(frame(GOAWAY, 0, 0, struct.pack(">II", 0, 11))),
                "goaway then answer": lambda: stream.sendall(frame(GOAWAY, 0, 0, struct.pack(">II", n, 0)) + whole),
                "rst flood": lambda: forever(stream, frame(RST, 0, n, struct.pack(">I", 8))),
                "rst at once": lambda: stream.sendall(frame(RST, 0, n, struct.pack(">I", 2))),
                "rst in content": lambda: stream.sendall(good + frame(DATA, 0, n, b"x") + frame(RST, 0, n, struct.pack(">I", 8))),
                "continuation flood": lambda: (stream.sendall(frame(HEADERS, 0, n, OK)), forever(stream, frame(CONTINUATION, 0, n, FIELD * 60))),
                "empty continuation flood": lambda: (stream.sendall(frame(HEADERS, 0, n, OK)), forever(stream, frame(CONTINUATION, 0, n))),
                "ping flood": lambda: forever(stream, frame(PING, 0, 0, b"12345678")),
                "settings flood": lambda: forever(stream, frame(SETTINGS, 0, 0, struct.pack(">HI", 3, 100))),
                "window flood": lambda: forever(stream, frame(WINDOW, 0, 0, struct.pack(">I", 1))),
                "window overflow": lambda: (stream.sendall(frame(WINDOW, 0, 0, struct.pack(">I", 0x7FFFFFFF))), stream.recv(65536)),
                "priority flood": lambda: forever(stream, frame(PRIORITY, 0, n, struct.pack(">IB", 0, 1))),
                "empty data flood": lambda: (stream.sendall(good), forever(stream, frame(DATA, 0, n))),
                "unknown frame flood": lambda: forever(stream, frame(0x42, 0, n, b"x" * 100)),
                "interim flood": lambda: forever(stream, frame(HEADERS, 4, n, b"\x08\x03103")),
                "huge fields": lambda: (stream.sendall(frame(HEADERS, 0, n, OK)), [stream.sendall(frame(CONTINUATION, 0, n, FIELD * 60)) for _ in range(100)], stream.sendall(frame(CONTINUATION, 4, n) + frame(DATA, 1, n, b"x"))),
                "broken compression": lambda: (stream.sendall(frame(HEADERS, 4, n, b"\xff\xff\xff\xff\xff\xff")), stream.recv(65536)),
                "push": lambda: (stream.sendall(frame(PUSH, 4, n, struct.pack(">I", 2) + OK)), stream.recv(65536)),
                "frame too large": lambda: (stream.sendall(struct.pack(">I", 1 << 23)[1:] + bytes([0, 0]) + struct.pack(">I", n)), forever(stream, b"x" * 1000)),
                "data before headers": lambda: (stream.sendall(frame(DATA, 1, n, b"hello")), stream.recv(65536)),
                "data on stream 0": lambda: (stream.sendall(frame(DATA, 1, 0, b"hello")), stream.recv(65536)),
                "no status": lambda: (stream.sendall(frame(HEADERS, 5, n, b"\x00\x01a\x01b")), stream.recv(65536)),
                "length too long": lambda: (stream.sendall(frame(HEADERS, 4, n, OK + b"\x0f\x0d\x0210") + frame(DATA, 1, n, b"hello")), stream.recv(65536)),
                "length too short": lambda: (stream.sendall(frame(HEADERS, 4, n, OK + b"\x0f\x0d\x012") + frame(DATA, 1, n, b"hello")), stream.recv(65536)),
                "upper-case field": lambda: (stream.sendall(frame(HEADERS, 4, n, OK + b"\x00\x01A\x01b") + frame(DATA, 1, n, b"hello")), stream.recv(65536)),
                "one byte a frame, answer": lambda: stream.sendall(drops),
                "one byte a frame, close": lambda: (stream.sendall(drops), stream.shutdown(socket.SHUT_WR), exactly(stream, 1 << 30)),
                "http/1 instead": lambda: stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
                "close the gate, answer": lambda: stream.sendall(whole + frame(SETTINGS, 0, 0, struct.pack(">HI", 3, 0))),
                "content, close": lambda: content(stream),
                "refuse the first, else answer": lambda: stream.sendall(frame(RST, 0, n, struct.pack(">I", 7)) if n == 1 else whole),
                "reset for HTTP/1.1, no answer": lambda: stream.sendall(frame(RST, 0, n, struct.pack(">I", 13))),
                "going away for HTTP/1.1, no answer": lambda: stream.sendall(frame(GOAWAY, 0, 0, struct.pack(">II", 0, 13))),
                "refuse all, no answer": lambda: stream.sendall(frame(RST, 0, n, struct.pack(">I", 7))),
                "going away twice, answer": lambda: stream.sendall(b"".join(frame(GOAWAY, 0, 0, struct.pack(">II", last, 0)) for last in (0x7FFFFFFF, n)) + whole),
                "not processed, no answer": lambda: stream.sendall(frame(GOAWAY, 0, 0, struct.pack(">II", n - 2 if n > 1 else 0, 0)) if n > 1 else whole),
                "misdirected but for the first, answer": lambda: stream.sendall(whole if n == 1 else wrong),
                "misdirected, answer": lambda: stream.sendall(wrong),
                "early, answer": lambda: stream.sendall(good + frame(DATA, 0, n, b"hello") + frame(DATA, 1, n) + frame(RST, 0, n, struct.pack(">I", 0))),
                "limit 1, answer": lambda: stream.sendall(whole),
                "the first of a connection, else no answer": lambda: stream.sendall(whole) if n == 1 else None,
                "silence": lambda: exactly(stream, 1 << 30),
                "close": lambda: None,
                "close on the second, else answer": lambda: (hasContent and content(stream), stream.sendall(whole)) if n == 1 else stream.shutdown(socket.SHUT_RDWR),
            }
            acts[config["act"]]()

        def http2(stream, number):
            exactly(stream, 24)
            starts = {"gate closed": 0, "limit 1": 1}
            gate = b"".join(struct.pack(">HI", 3, limit) for start, limit in starts.items() if config["act"].startswith(start))
            stream.sendall(frame(SETTINGS, 0, 0, gate))
            held = set()
            while True:
                first = exactly(stream, 9)
                length = struct.unpack(">I", b"\0" + first[:3])[0]
                payload = exactly(stream, length)
                if first[3] == SETTINGS and not first[4] & 1:
                    stream.sendall(frame(SETTINGS, 1, 0))
                if first[3] == PING and not first[4] & 1:
                    tell("ping", number)
                    stream.sendall(frame(PING, 1, 0, payload))
                n = struct.unpack(">I", first[5:9])[0]
                if first[3] == RST:
                    held.discard(n)
                if first[3] == HEADERS:
                    tell("request", number, "stream", n)
                    if config["act"] == "one stream at a time, answer" and (held or n == 1):
                        stream.sendall(frame(RST, 0, n, struct.pack(">I", 7)) if held else frame(HEADERS, 4, n, OK))
                        held.add(1)
                        continue
                    floods(stream, n, not first[4] & 1)
                    if not config["act"].endswith("answer"):
                        return

        shared = None if config.get("plain") else context()

        def serve(plain, number):
            try:
                plain.settimeout(60)
                stream = shared.wrap_socket(plain, server_side=True) if shared else plain
            except Exception as error:
                tell("refused", number, error)
                plain.close()
                return
            if shared:
                tell("connected", number, "resumed" if stream.session_reused else "new", stream.selected_alpn_protocol())
            try:
                mode = config["mode"]
                if mode == "http2" and shared and stream.selected_alpn_protocol() == "http/1.1":
                    mode = "answer"
                {"answer": answer, "proxy": proxy, "http2": http2}[mode](stream, number)
            except Exception as error:
                tell("ended", number, type(error).__name__)
            try:
                if not config.get("truncates"):
                    stream.unwrap()
            except Exception:
                pass
            stream.close()
            tell("closed", number)

        listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        tell("port", listener.getsockname()[1])
        count = 0
        while True:
            plain, _ = listener.accept()
            threading.Thread(target=serve, args=(plain, count), daemon=True).start()
            count += 1
        """#
}
