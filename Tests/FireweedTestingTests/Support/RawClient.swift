import Foundation
import Glibc

/// A client that sends bytes which no correct client sends.
enum RawClient {
    /// Sends bytes to a port of 127.0.0.1, and returns what comes until the server closes.
    static func send(_ bytes: Data, to port: UInt16) async -> Data {
        // A thread of its own may block; a task's may not.
        await withCheckedContinuation { continuation in
            Thread { continuation.resume(returning: answer(to: bytes, port)) }.start()
        }
    }

    private static func answer(to bytes: Data, _ port: UInt16) -> Data {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let isConnected = withUnsafeBytes(of: &address) { address in
            guard let pointer = address.bindMemory(to: sockaddr.self).baseAddress else { return false }
            return connect(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
        guard isConnected else { return Data() }
        let sent = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        guard sent == bytes.count else { return Data() }
        var answer = Data()
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 16) { space in
            while true {
                let count = recv(descriptor, space.baseAddress, space.count, 0)
                guard count > 0 else { return }
                answer.append(contentsOf: space[..<count])
            }
        }
        return answer
    }
}
