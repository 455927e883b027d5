import FixtureServer
import Foundation
import Testing

/// Calls that have one place, since that place knows the session's proxy, address guard and names.
@Suite("Places of system calls")
struct SystemCallTests {
    /// The files that may call a function, each with its reason.
    private static let places: [(function: String, files: [String: String])] = [
        (
            "connect",
            [
                "Dialer.swift": "every connection of a session",
                "HostProbe.swift": "`fireweed check` tries each address of a host, for a user who named the host",
            ]
        ),
        (
            "getaddrinfo",
            [
                "SystemLookup.swift": "every look-up of a session",
                "RouteSubject.swift": "reachability asks the kernel for routes, and connects to nothing",
                "HostProbe.swift": "`fireweed check`",
                "ListeningSocket.swift": "`fireweed serve --host`: an address of this machine",
            ]
        ),
    ]

    private static let modules = ["Fireweed", "FireweedTransport", "FireweedFleet", "FireweedCLI", "Alamofire"]

    /// The objects of the modules that are shipped and that open connections, by the names of their sources.
    private static func objects() -> [URL] {
        modules.flatMap { module -> [URL] in
            let folder = Bundle.main.bundleURL.appendingPathComponent("\(module).build")
            let files = try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            return (files ?? []).filter { $0.lastPathComponent.hasSuffix(".swift.o") }
        }
    }

    @Test("connections are opened, and names looked up, in one place each")
    func places() throws {
        let objects = Self.objects()
        try #require(objects.contains { $0.lastPathComponent == "Dialer.swift.o" })
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/nm")
        process.arguments = ["-A", "-u"] + objects.map(\.path)
        let output = Pipe.closedOnExec()
        process.standardOutput = output
        try process.start()
        let text = String(decoding: output.fileHandleForReading.contentToEnd(), as: UTF8.self)
        process.waitUntilExit()
        let lines = text.split(separator: "\n")
        for (function, files) in Self.places {
            let found = lines.filter { $0.hasSuffix(" U \(function)") }.compactMap { line in
                line.split(separator: ":").first.map { URL(fileURLWithPath: String($0)).lastPathComponent }
            }
            #expect(Set(found) == Set(files.keys.map { "\($0).o" }), "callers of \(function)")
        }
    }
}
