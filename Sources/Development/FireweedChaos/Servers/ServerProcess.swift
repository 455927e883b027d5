// The separate process of the servers, because this process counts the descriptors and threads that the client leaves.

import FixtureServer
import Foundation
import Synchronization

/// The process of the servers, which ends when this object is released or this program ends.
final class ServerProcess: Sendable {
    let addresses: ServerAddresses
    private let process: ChildProcess

    /// Starts this program again with `--servers`, and reads the addresses that it prints.
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

    /// References to the servers, which would stop without one.
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
