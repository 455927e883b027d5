import FixtureServer
import Foundation

@testable import FireweedCLI

/// A suite that runs curl commands in a folder of its own, against a server of its own.
protocol CURLSuite {
    var server: FixtureServer { get }
    var folder: TemporaryFolder { get }
}

extension CURLSuite {
    func run(_ options: String, _ path: String = "/anything", environment: [String: String] = [:]) throws
        -> CommandResult
    {
        try command("curl \(options) '\(url(path))'", environment: environment)
    }

    func command(_ text: String, environment: [String: String] = [:]) throws -> CommandResult {
        try Command.run(["--from-curl", text], in: folder.url, environment: environment)
    }

    func url(_ path: String) -> String { server.url(path).absoluteString }

    func write(_ text: String, _ name: String) throws {
        try Data(text.utf8).write(to: folder.file(name))
    }

    func read(_ name: String) -> String? {
        FileManager.default.contents(atPath: folder.file(name).path).map { String(decoding: $0, as: UTF8.self) }
    }
}
