// One connection of the scripted server, on a thread of its own.

import Dispatch
import Foundation
import Glibc
import Synchronization

/// Plays a script on a connected socket.
struct ScriptedConnection: Sendable {
    let descriptor: Int32
    let number: Int
    let events: EventLog<ScriptedServer.Event>
    let signals: EventLog<String>

    func play(_ script: [ScriptedServer.Action]) {
        events.record(.accepted(number))
        for step in script where !perform(step) { return }
    }

    /// Performs a step; returns false when the script ends with this step.
    private func perform(_ step: ScriptedServer.Action) -> Bool {
        switch step {
        case .receiveHead: return receiveHead()
        case .receive(let count): return receive(count)
        case .receiveContent: return receiveContent()
        case .send(let text): return send(Array(text.utf8))
        case .sendData(let data): return send(Array(data))
        case .sendRepeatedly(let text, let count): return sendRepeatedly(Array(text.utf8), count)
        case .wait(let name): return wait(for: name)
        case .hold:
            while receive(1) {}
            return false
        case .close: return false
        case .reset:
            var option = linger(l_onoff: 1, l_linger: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
            return false
        case .shutdownWrite:
            shutdown(descriptor, Int32(SHUT_WR))
            return true
        case .perform(let action):
            action()
            return true
        }
    }

    private func receiveHead() -> Bool {
        guard let head = receive(until: "\r\n\r\n") else { return false }
        events.record(.head(number, String(decoding: head, as: UTF8.self)))
        return true
    }

    /// Reads the content of the last request; false when the connection is over.
    private func receiveContent() -> Bool {
        let lines = lastHead.lowercased().split(separator: "\r\n")
        if lines.contains("transfer-encoding: chunked") { return receive(until: "\r\n0\r\n\r\n") != nil }
        let prefix = "content-length: "
        let length = lines.first { $0.hasPrefix(prefix) }.flatMap { Int($0.dropFirst(prefix.count)) }
        return receive(length ?? 0)
    }

    /// The last request head on this connection; empty before the first.
    private var lastHead: String {
        for case .head(number, let head) in events.events.reversed() { return head }
        return ""
    }

    /// Reads up to and including `end`; `nil` when the connection ends before, or after 1 MiB.
    private func receive(until end: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        while !bytes.suffix(end.utf8.count).elementsEqual(end.utf8) {
            var byte: UInt8 = 0
            guard bytes.count < 1 << 20, recv(descriptor, &byte, 1, 0) == 1 else {
                _ = ended()
                return nil
            }
            bytes.append(byte)
        }
        return bytes
    }

    private func receive(_ count: Int) -> Bool {
        var left = count
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while left > 0 {
            let got = recv(descriptor, &buffer, min(left, buffer.count), 0)
            guard got > 0 else { return ended() }
            left -= got
        }
        return true
    }

    private func ended() -> Bool {
        events.record(.closedByPeer(number))
        return false
    }

    private func send(_ bytes: [UInt8]) -> Bool {
        var offset = 0
        while offset < bytes.count {
            let sent = bytes[offset...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard sent > 0 else { return ended() }
            offset += sent
        }
        return true
    }

    /// Sends bytes `count` times, and records `stalled` whenever nothing can be sent for half a second.
    private func sendRepeatedly(_ bytes: [UInt8], _ count: Int) -> Bool {
        let isWhole = LoopbackSocket.sendRepeatedly(bytes, count: count, on: descriptor) {
            events.record(.stalled(number, byteCount: $0))
        }
        return isWhole || ended()
    }

    /// Blocks this thread until the test signals `name`; returns false after `TestTimeouts.limit`.
    private func wait(for name: String) -> Bool {
        let done = DispatchGroup()
        let cameInTime = Atomic<Bool>(false)
        done.enter()
        Task {
            cameInTime.store((try? await signals.next(name)) != nil, ordering: .releasing)
            done.leave()
        }
        done.wait()
        return cameInTime.load(ordering: .acquiring)
    }
}
