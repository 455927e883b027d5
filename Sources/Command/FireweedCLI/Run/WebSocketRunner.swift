// `fireweed ws`.

import CommandLanguage
import Fireweed
import Foundation
import FoundationNetworking

/// Talks over a WebSocket: at a prompt on a terminal, line by line in a pipe.
struct WebSocketRunner {
    private let request: WebSocketRequest
    private let session: Session
    private let sendsBinary: Bool
    private let quietTime: Duration
    private let invocation: Invocation

    init(_ invocation: Invocation) throws {
        self.invocation = invocation
        let plan = try RequestPlan(invocation)
        session = try SessionMaker.session(for: invocation, plan: plan, saved: nil).session
        let authentication = try Authentication(invocation, askForPassword: Terminal.askForPassword)
        if let names = invocation.subprotocol {
            try RequestPlan.check([HTTPHeader(name: "Sec-WebSocket-Protocol", value: names)])
        }
        var headers = plan.headers
        authentication?.addField(to: &headers)
        try RequestPlan.check(headers)
        sendsBinary = invocation.sendsBinary
        quietTime = .seconds(invocation.quietTime)
        let configuration = WebSocketRequest.Configuration(
            protocol: invocation.subprotocol, maximumMessageSize: 1 << 30, pingInterval: invocation.pingInterval,
            compression: invocation.compresses ? WebSocketCompression() : nil, requiresPongs: true)
        request = session.webSocketRequest(to: plan.url, configuration: configuration, headers: headers)
        authentication?.apply(to: request)
    }

    func run() async -> ExitCode {
        if invocation.isInsecure, invocation.url.lowercased().hasPrefix("wss:") {
            Terminal.tell(RequestRunner.insecurityWarning)
        }
        let console = SocketConsole(terminal: Terminal.isOutput ? RawTerminal() : nil)
        let task = request.webSocketTask()
        let events = task.streamingMessageEvents()
        // The end of a pipe closes the WebSocket, and a pipe may end before there is a connection. So a pipe is read
        // only once connected.
        let isInteractive = await console.isInteractive
        var input = isInteractive ? Task { await feed(task, console) } : nil
        var code = ExitCode.success
        var isConnected = false
        for await event in events {
            switch event.kind {
            case .connected(let name):
                isConnected = true
                if input == nil { input = Task { await feed(task, console) } }
                await show(request.response, console)
                if isInteractive {
                    await console.note("connected\(name.map { ", \($0)" } ?? ""); /help lists the commands")
                    await console.draw()
                }
            case .receivedMessage(let message): await console.show(message)
            case .disconnected(_, let reason):
                code = await disconnected(event.closeCode ?? .noStatusReceived, reason, console)
            case .completed(let completion):
                guard let error = completion.error else { break }
                if await console.wasInterrupted {
                    code = .interrupted
                    break
                }
                await show(completion.response, console)
                let text = ErrorText(error, invocation)
                // Before the connection, a time-out is that of the handshake; after it, of a pong or of the close.
                let isLate = isConnected && text.code == .timedOut
                let missing = invocation.pingInterval == nil ? "the close in time" : "a ping in time (--ping)"
                await console.note(isLate ? "the server did not answer \(missing)" : text.message)
                code = text.code
            }
        }
        if code == .success, await console.hasFailed { code = .failure }
        input?.cancel()
        await console.end()
        return code
    }

    private func disconnected(
        _ code: WebSocketCloseCode, _ reason: Data?, _ console: SocketConsole
    ) async -> ExitCode {
        let isOwn = await console.closingCode == code.rawValue
        let isUsual = isOwn || [.normalClosure, .goingAway, .noStatusReceived].contains(code)
        let text = reason.map { " (\(String(decoding: $0, as: UTF8.self)))" } ?? ""
        let isInteractive = await console.isInteractive
        if !isUsual || isInteractive { await console.note("closed with \(code)\(text)") }
        return isUsual ? .success : .failure
    }

    /// Shows the head of the handshake's response with `--verbose`.
    private func show(_ response: HTTPURLResponse?, _ console: SocketConsole) async {
        guard invocation.isVerbose, let response else { return }
        let appearance = Appearance(
            invocation, isTerminal: Terminal.isError, allowsColours: Terminal.allowsColours)
        await console.showHead(MessageText(appearance: appearance).head(of: response))
    }

    // MARK: Input

    private func feed(_ task: WebSocketTask, _ console: SocketConsole) async {
        if await console.isInteractive { return await feedKeys(task, console) }
        var cutter = LineCutter()
        do {
            for await bytes in InputBytes.stream() {
                if sendsBinary {
                    try await task.send(.data(Data(bytes)))
                } else {
                    for line in cutter.append(bytes) { try await send(line, to: task) }
                }
            }
            if let rest = cutter.finish() { try await send(rest, to: task) }
        } catch let error as UsageError {
            await console.fail(error.message)
            return task.close(sending: .normalClosure)
        } catch {
            return  // the request ends with its own error, which is shown
        }
        // Many servers drop pending replies when they receive a close frame.
        await console.waitForQuiet(quietTime)
        task.close(sending: .normalClosure)
    }

    private func send(_ line: [UInt8], to task: WebSocketTask) async throws {
        guard let text = String(validating: line, as: UTF8.self) else {
            throw UsageError(message: "a line of the input is not UTF-8; --binary sends bytes")
        }
        try await task.send(.string(text))
    }

    private func feedKeys(_ task: WebSocketTask, _ console: SocketConsole) async {
        for await bytes in InputBytes.stream() {
            for action in await console.keys(bytes) {
                switch action {
                case .submit(let line): await perform(SocketCommand(line), task, console)
                case .end: task.close(sending: .normalClosure)
                case .interrupt:
                    await console.noteInterruption()
                    task.cancel()
                }
            }
        }
        task.close(sending: .normalClosure)
    }

    private func perform(_ command: SocketCommand, _ task: WebSocketTask, _ console: SocketConsole) async {
        switch command {
        case .send(let text):
            let message: URLSessionWebSocketTask.Message = sendsBinary ? .data(Data(text.utf8)) : .string(text)
            do { try await task.send(message) } catch { await console.note("not sent") }
        case .ping:
            switch await task.sendPing() {
            case .pong(let pong): await console.note(String(format: "pong after %.1f ms", pong.latency * 1000))
            case .error, .unsent: await console.note("no pong")
            }
        case .close(let code, let reason):
            await console.noteClosing(code)
            task.close(sendingCode: WebSocketCloseCode(rawValue: code), reason: Data(reason.utf8))
        case .help: await console.note(SocketCommand.helpText.replacingOccurrences(of: "\n", with: "\n  "))
        case .unknown(let text): await console.note(text)
        }
    }
}
