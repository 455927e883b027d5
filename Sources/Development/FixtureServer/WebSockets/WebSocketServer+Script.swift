// The Python side of the WebSocket server.

extension WebSocketServer {
    static let script = #"""
        import asyncio, base64, hashlib, http, itertools, json, ssl, sys, urllib.parse, urllib.request
        from websockets.extensions.permessage_deflate import ServerPerMessageDeflateFactory
        try:
            from websockets.asyncio.server import serve
            is_new = True
        except ImportError:  # Debian 12's version 10.4
            from websockets import serve
            is_new = False

        settings = json.loads(sys.argv[1])
        hashes = {"MD5": "md5", "SHA-256": "sha256", "SHA-512-256": "sha512_256"}
        nonces = itertools.count()

        def query(path):
            return {k: v[0] for k, v in urllib.parse.parse_qs(urllib.parse.urlsplit(path).query).items()}

        def digest(path, given, authorization):
            """RFC 7616, section 3.4: whether the field answers a nonce of ours; else the challenge."""
            name = given.get("algorithm", "MD5")
            base = name[:-5] if name.endswith("-sess") else name
            h = lambda text: hashlib.new(hashes[base], text.encode()).hexdigest()
            stale = ""
            if authorization.startswith("Digest "):
                f = urllib.request.parse_keqv_list(urllib.request.parse_http_list(authorization[7:]))
                secret = h("user:x:secret")
                if base != name:
                    secret = h(f"{secret}:{f['nonce']}:{f['cnonce']}")
                qop = f.get("qop")
                body = ":" + h("") if qop == "auth-int" else ""
                middle = f"{f['nc']}:{f['cnonce']}:{qop}:" if qop else ""
                right = h(f"{secret}:{f['nonce']}:{middle}{h('GET:' + f['uri'] + body)}")
                user = h("user:x") if f.get("userhash") == "true" else "user"
                number = int(f["nonce"].split("-")[1])
                if (f["response"], f["uri"], f["username"]) == (right, path, user):
                    if number % 10 >= int(given.get("stale", "0")):
                        return None
                    stale = ", stale=true"
                number += 1
            else:
                number = next(nonces) * 10
            qop = f', qop="{given["qop"]}"' if "qop" in given else ""
            userhash = ", userhash=true" if "userhash" in given else ""
            return [
                ("WWW-Authenticate", 'Basic realm="x"') if "basic" in given else ("X-None", "1"),
                ("WWW-Authenticate", f'Digest realm="x", nonce="n-{number}", opaque="o", algorithm={name}{qop}{userhash}{stale}'),
            ]

        def refusal(path, authorization):
            """Status and fields of a handshake that is not to be."""
            name, given = urllib.parse.urlsplit(path).path, query(path)
            if name == "/redirect":
                return http.HTTPStatus.FOUND, [("Location", given["to"])]
            if name == "/status":
                return http.HTTPStatus(int(given["code"])), []
            if name == "/basic":
                if authorization != "Basic " + base64.b64encode(b"user:secret").decode():
                    return http.HTTPStatus.UNAUTHORIZED, [("WWW-Authenticate", 'Basic realm="x"')]
            if name == "/digest":
                challenge = digest(path, given, authorization)
                if challenge:
                    return http.HTTPStatus.UNAUTHORIZED, challenge
            return None

        def own_fields(path):
            return [("Set-Cookie", "flavour=plain; Path=/")] if path == "/cookie" else []

        async def handler(ws):
            path = ws.request.path if is_new else ws.path
            headers = ws.request.headers if is_new else ws.request_headers
            name, given = urllib.parse.urlsplit(path).path, query(path)
            if name in ("/headers", "/basic", "/digest"):
                await ws.send(json.dumps({k.lower(): v for k, v in headers.raw_items()}))
            elif name == "/peer":
                certificate = ws.transport.get_extra_info("ssl_object").getpeercert()
                await ws.send(json.dumps(certificate["subject"][0][0][1] if certificate else None))
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
                size = int(given.get("fragment", "0"))
                async for message in ws:
                    if size and len(message) > size:
                        message = [message[i:i + size] for i in range(0, len(message), size)]
                    await ws.send(message)

        def process_request(connection, request):
            answer = refusal(request.path, request.headers.get("Authorization", ""))
            if answer is None:
                return None
            response = connection.respond(answer[0], "no")
            for name, value in answer[1]:
                response.headers[name] = value
            return response

        def process_response(connection, request, response):
            for name, value in own_fields(request.path):
                response.headers[name] = value

        async def process_request_10(path, headers):
            answer = refusal(path, headers.get("Authorization", ""))
            return answer and (*answer, b"no")

        hooks = (
            {"process_request": process_request, "process_response": process_response} if is_new
            else {"process_request": process_request_10, "extra_headers": lambda path, headers: own_fields(path)})

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
            async with serve(
                handler, "127.0.0.1", settings["port"], ssl=context, max_size=None, max_queue=4, compression=None,
                ping_interval=None, extensions=extensions, subprotocols=settings["subprotocols"] or None, **hooks,
            ):
                await asyncio.Future()

        asyncio.run(main())
        """#
}
