// The requests of a curl command with `--next`.

import Fireweed
import Foundation

/// Runs the parts of a command one after the other; each part gets the cookies of the part before it.
struct FollowingRequests {
    private let invocations: [Invocation]

    init(_ invocation: Invocation) {
        var first = invocation
        first.following = []
        var all = [first] + invocation.following
        // curl has these two for the whole command.
        let isSilent = all.contains { $0.curl?.isSilent == true }
        let showsErrors = all.contains { $0.curl?.showsErrors == true }
        for index in all.indices {
            all[index].curl?.isSilent = isSilent
            all[index].curl?.showsErrors = showsErrors
        }
        invocations = all
    }

    /// Sends all requests; the exit code is the first that is not 0, or that of an interruption, which ends the run.
    func run() async throws -> ExitCode {
        var (code, cookies): (ExitCode, [HTTPCookie]) = (.success, [])
        for var invocation in invocations {
            invocation.curl?.earlierCookies = cookies.map { CURLTransfer.EarlierCookie($0) }
            let input = try StandardInput.content(for: &invocation)
            let (next, storage) = try await Self.run(invocation, input)
            if code == .success { code = next }
            if next.isInterruption { return next }
            // A part without -b FILE and -c has a storage that it does not use.
            guard invocation.curl?.keepsCookies != false || invocation.sessionName != nil else { continue }
            cookies = storage?.cookies ?? []
        }
        return code
    }

    private static func run(
        _ invocation: Invocation, _ input: StandardInput.Content?
    ) async throws -> (ExitCode, HTTPCookieStorage?) {
        if invocation.urlCount > 1 {
            let several = try SeveralRequests(invocation, standardInput: input)
            return (await several.run(), several.cookies)
        }
        let runner = try RequestRunner(invocation, standardInput: input)
        return (await runner.run(), runner.cookies)
    }
}
