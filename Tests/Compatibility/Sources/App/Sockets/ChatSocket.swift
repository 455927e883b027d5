@_spi(WebSocket) import Alamofire
import Foundation

/// A chat over Alamofire's WebSockets, which are SPI there.
@MainActor
public final class ChatSocket {
    public private(set) var lines: [String] = []
    public private(set) var isOpen = false
    private var request: WebSocketRequest?

    public init() {}

    public func open(_ url: URL, through session: Session) {
        let configuration = WebSocketRequest.Configuration(
            protocol: "chat", maximumMessageSize: 65_536, pingInterval: 20)
        request = session.webSocketRequest(to: url, configuration: configuration, headers: [.userAgent("Chat")])
            .streamMessageEvents { event in
                switch event.kind {
                case .connected(let name):
                    self.isOpen = true
                    print(name ?? "none")
                case .receivedMessage(.string(let text)): self.lines.append(text)
                case .receivedMessage: break
                case .disconnected(let closeCode, let reason):
                    self.isOpen = false
                    print(closeCode, reason?.count ?? 0)
                case .completed(let completion): print(completion.error as Any)
                }
            }
    }

    public func send(_ line: String) {
        request?.send(.string(line)) { result in
            if case .failure(let error) = result { print(error) }
        }
    }

    public func close() {
        request?.close(sending: .normalClosure)
    }
}
