// fireweed: HTTP from the terminal. Parse, then run, then exit.

import CommandLanguage
import Fireweed
import Foundation
import Glibc

// A stream that is closed must not get the number of a socket or file that is opened later: what is said on standard
// error would be written there. Standard output stays unwritable, so that the exit code tells.
for (stream, mode) in [(STDIN_FILENO, O_RDONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_WRONLY)]
where fcntl(stream, F_GETFD) < 0 {
    _ = open("/dev/null", mode)
}
// A closed pipe is an error of a write, not the end of the process.
signal(SIGPIPE, SIG_IGN)
Interruption.prepare()

do {
    try ArgumentParser.checkEncoding()
    // Under the name `fws`, a URL without a scheme is https, that of a loopback host too.
    let isSecureAlias = CommandLine.arguments.first?.split(separator: "/").last == "fws"
    let invocation = try ArgumentParser.parse(
        Array(CommandLine.arguments.dropFirst()),
        defaults: ConfigurationFile.options()
            + (isSecureAlias ? try OptionReader.read(["--default-scheme", "https"]).options : []))
    let code: ExitCode
    switch invocation.task {
    case .help(let topic):
        Terminal.write("\(Help.text(of: topic))\n")
        code = .success
    case .version:
        Terminal.write("fireweed \(AFInfo.version) (\(EngineTransport.engineVersion))\n")
        code = .success
    case .generate(let file):
        Terminal.write(Array(file.text.utf8))
        code = .success
    case .serve(let port, let folder):
        code = await ServeRunner(port: port, folder: folder, invocation: invocation).run()
    case .fetch: code = await (try FetchRunner(invocation)).run()
    case .webSocket: code = try await WebSocketRunner(invocation).run()
    case .status(let target): code = await StatusRunner(target: target, watches: invocation.watches).run()
    case .request:
        if invocation.showsDebugging {
            Terminal.tell("* fireweed \(AFInfo.version), \(EngineTransport.engineVersion)\n")
        }
        if !invocation.following.isEmpty {
            code = try await FollowingRequests(invocation).run()
        } else if invocation.urlCount > 1 {
            let input = StandardInput.content(for: invocation)
            code = try await SeveralRequests(invocation, standardInput: input).run()
        } else {
            let runner = try RequestRunner(invocation, standardInput: StandardInput.content(for: invocation))
            // The process ends after this run. Taking the session apart first would be a twelfth of a short run.
            _ = Unmanaged.passRetained(runner)
            code = await runner.run()
        }
    }
    exit(code.rawValue)
} catch let error as UsageError {
    Terminal.tell("fireweed: \(error.message)\n")
    exit(ExitCode.usage.rawValue)
} catch {
    Terminal.tell("fireweed: \(error.localizedDescription)\n")
    exit(ExitCode.failure.rawValue)
}
