// Programs that judge what we made.

import FixtureServer
import Foundation
import Testing

/// Runs a program with given input.
enum Program {
    /// What a program printed.
    struct Output {
        let data: Data
        let errors: String
        let code: Int32

        var text: String { String(decoding: data, as: UTF8.self) }
    }

    /// Runs a program from the path to its end; input and output go through files, so that neither side can wait for
    /// the other.
    static func run(_ program: String, _ arguments: [String], input: Data = Data(), in folder: URL) async throws
        -> Output
    {
        let name = UUID().uuidString
        let files = ["in", "out", "err"].map { folder.appendingPathComponent("\(name).\($0)") }
        try input.write(to: files[0])
        for file in files.dropFirst() { try Data().write(to: file) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [program] + arguments
        process.standardInput = try FileHandle(forReadingFrom: files[0])
        process.standardOutput = try FileHandle(forWritingTo: files[1])
        process.standardError = try FileHandle(forWritingTo: files[2])
        process.currentDirectoryURL = folder
        // Waiting here would keep one of the few threads of all tests.
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            process.terminationHandler = { _ in continuation.resume() }
            do { try process.start() } catch { continuation.resume(throwing: error) }
        }
        let output = Output(
            data: try Data(contentsOf: files[1]), errors: try String(contentsOf: files[2], encoding: .utf8),
            code: process.terminationStatus)
        for file in files { try FileManager.default.removeItem(at: file) }
        return output
    }

    /// Runs a script of Python's standard library, which gets `input` and prints JSON.
    static func python<Value: Decodable>(
        _ script: String, input: Data, as type: Value.Type = Value.self, in folder: URL
    ) async throws -> Value {
        let output = try await run("python3", ["-c", script], input: input, in: folder)
        try #require(output.code == 0, "\(output.errors)")
        return try JSONDecoder().decode(Value.self, from: output.data)
    }
}
