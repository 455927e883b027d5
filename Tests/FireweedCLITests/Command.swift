// The built command, run as a program.

import FixtureServer
import Foundation

/// What a run of the command left.
struct CommandResult {
    let output: Data
    let errors: String
    let code: Int32

    /// The output as a JSON object.
    var object: [String: Any]? { try? JSONSerialization.jsonObject(with: output) as? [String: Any] }
}

/// Runs the command.
enum Command {
    /// Runs the built command in a folder, to its end.
    static func run(
        _ arguments: [String], in folder: URL, input: String? = nil, environment: [String: String] = [:]
    ) throws -> CommandResult {
        try run(program, arguments, in: folder, input: input, environment: environment)
    }

    /// Runs a shell script in a folder, whose `$0` is the built command.
    static func run(script: String, in folder: URL) throws -> CommandResult {
        try run(URL(fileURLWithPath: "/bin/sh"), ["-c", script, program.path], in: folder)
    }

    private static var program: URL { Bundle.main.bundleURL.appendingPathComponent("fireweed") }

    private static func run(
        _ program: URL, _ arguments: [String], in folder: URL, input: String? = nil, environment: [String: String] = [:]
    ) throws -> CommandResult {
        let process = Process()
        process.executableURL = program
        process.arguments = arguments
        process.currentDirectoryURL = folder
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let (output, errors, standardInput) = (Pipe.closedOnExec(), Pipe.closedOnExec(), Pipe.closedOnExec())
        process.standardOutput = output
        process.standardError = errors
        process.standardInput = input == nil ? FileHandle.nullDevice : standardInput
        try process.start()
        if let input {
            try standardInput.fileHandleForWriting.write(contentsOf: Data(input.utf8))
            try standardInput.fileHandleForWriting.close()
        }
        let data = output.fileHandleForReading.contentToEnd()
        let text = String(decoding: errors.fileHandleForReading.contentToEnd(), as: UTF8.self)
        process.waitUntilExit()
        return CommandResult(output: data, errors: text, code: process.exitCode)
    }
}

extension Process {
    /// The code as a shell says it: that of a signal is 128 and its number.
    var exitCode: Int32 { terminationReason == .uncaughtSignal ? 128 + terminationStatus : terminationStatus }
}
