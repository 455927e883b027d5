// The program: it parses the command line, then runs it.

import CommandLanguage
import Fireweed
import Foundation

/// The program, from its arguments to its exit code.
enum Program {
    /// Runs the command line; prints an error on standard error.
    static func run() async -> ExitCode {
        var configured: [OptionUse] = []
        do {
            try ArgumentParser.checkEncoding()
            return try await run(try invocation(&configured))
        } catch let error as UsageError {
            let words = Array(CommandLine.arguments.dropFirst())
            Terminal.tell("fireweed: \(OptionUse.placed(error.message, in: configured, beside: words))\n")
            return .usage
        } catch let error as InputTimeOut {
            Terminal.tell("fireweed: \(ErrorText.wholeTimeOut(error.seconds))\n")
            return .timedOut
        } catch {
            Terminal.tell("fireweed: \(error.plainText)\n")
            return .failure
        }
    }

    /// Parses the command line; `configured` gets the options of the configuration file.
    private static func invocation(_ configured: inout [OptionUse]) throws -> Invocation {
        // Under the name `fws`, a URL without a scheme gets https, even for a loopback host.
        let isSecureAlias = CommandLine.arguments.first?.split(separator: "/").last == "fws"
        let words = Array(CommandLine.arguments.dropFirst())
        do {
            configured = try ConfigurationFile.options()
            let alias = isSecureAlias ? try OptionReader.read(["--default-scheme", "https"]).options : []
            return try ArgumentParser.parse(words, defaults: configured + alias)
        } catch {
            // Help, version and generated files work even if the configuration file is wrong.
            guard let plain = try? ArgumentParser.parse(words, defaults: []) else { throw error }
            switch plain.task {
            case .help, .version, .generate: return plain
            case .request, .serve, .fetch, .webSocket, .status: throw error
            }
        }
    }

    private static func run(_ invocation: Invocation) async throws -> ExitCode {
        switch invocation.task {
        case .help(let topic):
            Terminal.write("\(Help.text(of: topic))\n")
            return .success
        case .version:
            Terminal.write("fireweed \(AFInfo.version) (\(EngineTransport.engineVersion))\n")
            return .success
        case .generate(let file):
            Terminal.write(Array(file.text.utf8))
            return .success
        case .serve(let port, let folder):
            return await ServeRunner(port: port, folder: folder, invocation: invocation).run()
        case .fetch: return await (try FetchRunner(invocation)).run()
        case .webSocket: return try await WebSocketRunner(invocation).run()
        case .status(let target): return try await StatusRunner(target: target, invocation: invocation).run()
        case .request: return try await request(invocation)
        }
    }

    private static func request(_ invocation: Invocation) async throws -> ExitCode {
        if invocation.showsDebugging {
            Terminal.tell("* fireweed \(AFInfo.version), \(EngineTransport.engineVersion)\n")
        }
        if !invocation.following.isEmpty { return try await FollowingRequests(invocation).run() }
        var invocation = invocation
        let input = try StandardInput.content(for: &invocation)
        if invocation.urlCount > 1 {
            return try await SeveralRequests(invocation, standardInput: input).run()
        }
        let runner = try RequestRunner(invocation, standardInput: input)
        // Never released: the process ends after this run, and deallocating the session would take a twelfth of a short
        // run.
        _ = Unmanaged.passRetained(runner)
        return await runner.run()
    }
}
