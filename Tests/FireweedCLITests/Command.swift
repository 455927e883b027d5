// The built command, run as a program.

import Foundation
import Glibc

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
        let process = Process()
        process.executableURL = Bundle.main.bundleURL.appendingPathComponent("fireweed")
        process.arguments = arguments
        process.currentDirectoryURL = folder
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let (output, errors, standardInput) = (Pipe(), Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        process.standardInput = input == nil ? FileHandle.nullDevice : standardInput
        try process.run()
        if let input {
            try standardInput.fileHandleForWriting.write(contentsOf: Data(input.utf8))
            try standardInput.fileHandleForWriting.close()
        }
        let data = content(of: output)
        let text = String(decoding: content(of: errors), as: UTF8.self)
        process.waitUntilExit()
        return CommandResult(output: data, errors: text, code: process.terminationStatus)
    }

    /// Reads to the end; Foundation's own way traps when a signal comes meanwhile.
    private static func content(of pipe: Pipe) -> Data {
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = read(pipe.fileHandleForReading.fileDescriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return data }
            data.append(contentsOf: buffer.prefix(count))
        }
    }
}
