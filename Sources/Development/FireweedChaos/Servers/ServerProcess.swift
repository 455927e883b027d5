// The servers' own process: descriptors and threads that a round leaves behind are the client's only.

import FixtureServer
import Foundation
import Synchronization

/// The process of the servers, which ends with its last reference, and with this process in any case.
final class ServerProcess: Sendable {
    let addresses: ServerAddresses
    private let process: ChildProcess

    /// Starts this program again as the servers.
    init() throws {
        let output = Pipe.closedOnExec()
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        process = try ChildProcess(program, ["--servers"], package: "", output: output.fileHandleForWriting)
        try output.fileHandleForWriting.close()
        var text = Data()
        while !text.contains(UInt8(ascii: "\n")) {
            let more = output.fileHandleForReading.nextContent()
            guard !more.isEmpty else { throw CocoaError(.fileReadUnknown) }  // the servers printed no addresses
            text += more
        }
        try output.fileHandleForReading.close()
        addresses = try JSONDecoder().decode(ServerAddresses.self, from: text)
    }

    /// Keeps the servers, which stop with their last reference.
    private static let kept = Mutex<[any Sendable]>([])

    /// Runs the servers: prints their addresses, and serves until the process is ended.
    static func serve() async throws -> Never {
        let orderly = try FixtureServer.start(threads: 2)
        let answers = OrderlyAnswers()
        answers.add(to: orderly)
        let authority = try CertificateAuthority()
        let secure = try NginxServer(certificate: authority.issue(), forwardingTo: orderly.url)
        let hostile = try HostileAct.allCases.map { ($0.rawValue, try ScriptedServer.start(scripts: [$0.script])) }
        let sockets = try SocketAct.allCases.map { ($0.rawValue, try $0.start()) }
        let addresses = ServerAddresses(
            clear: Int(orderly.port), secure: secure.secureURL?.port ?? 0,
            hostile: Dictionary(uniqueKeysWithValues: hostile.map { ($0.0, Int($0.1.port)) }),
            sockets: Dictionary(uniqueKeysWithValues: sockets.map { ($0.0, Int($0.1.port)) }),
            authority: authority.certificate.path)
        FileHandle.standardOutput.write(try JSONEncoder().encode(addresses) + Data("\n".utf8))
        kept.withLock { $0 = [orderly, secure, hostile, sockets, authority] }
        while true { try await Task.sleep(for: .seconds(3_600)) }
    }
}
