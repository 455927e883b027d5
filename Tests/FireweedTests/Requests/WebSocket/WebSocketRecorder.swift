// The events of a WebSocket request, in a form that compares.

import Fireweed
import Foundation
import FoundationNetworking

/// One event of a WebSocket.
enum WebSocketSight: Equatable, Sendable {
    case connected(String?)
    case text(String)
    case data(Data)
    case disconnected(Int, String?)
    /// The end; `nil` when there is no error, else the error's code or description.
    case completed(String?)

    init(_ event: WebSocketRequest.Event<URLSessionWebSocketTask.Message, Never>) {
        switch event.kind {
        case .connected(let name): self = .connected(name)
        case .receivedMessage(.string(let text)): self = .text(text)
        case .receivedMessage(.data(let data)): self = .data(data)
        case .disconnected(_, let reason):
            self = .disconnected(event.closeCode?.rawValue ?? -1, reason.map { String(decoding: $0, as: UTF8.self) })
        case .completed(let completion): self = .completed(completion.error.map(Self.name))
        }
    }

    static func name(_ error: AFError) -> String {
        if error.isExplicitlyCancelledError { return "cancelled" }
        return error.urlErrorCode.map { "\($0.rawValue)" } ?? "\(error)"
    }
}

extension WebSocketTask {
    /// Every event up to the end.
    func sights() async -> [WebSocketSight] {
        await sights { _ in }
    }

    /// Every event up to the end; `react` is called with each.
    func sights(
        _ react: (WebSocketRequest.Event<URLSessionWebSocketTask.Message, Never>) async throws -> Void
    ) async rethrows -> [WebSocketSight] {
        var sights: [WebSocketSight] = []
        for await event in streamingMessageEvents() {
            sights.append(WebSocketSight(event))
            try await react(event)
        }
        return sights
    }

    /// Sends back every message, as a testee of a fuzzing server does.
    func echo() async -> [WebSocketSight] {
        await sights { event in
            if let message = event.message { try? await send(message) }
        }
    }
}
