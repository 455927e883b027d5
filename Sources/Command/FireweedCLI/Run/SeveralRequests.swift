// The requests of a command line with several URLs.

import CommandLanguage
import Fireweed
import Foundation

/// Sends one request for each URL, over the connections of one session.
final class SeveralRequests: Sendable {
    private let invocation: Invocation
    private let first: RequestRunner

    var cookies: HTTPCookieStorage? { first.cookies }

    /// Throws what making the first request throws, and `UsageError` for content that can be sent only once.
    init(_ invocation: Invocation, standardInput: StandardInput.Content?) throws {
        self.invocation = invocation
        first = try RequestRunner(invocation.invocation(at: 0), standardInput: standardInput)
        switch first.plan.content {
        case .input, .stream:
            throw UsageError(message: "content that is read as it is sent can be sent to one URL only")
        case .none, .data, .file, .multipart: break
        }
    }

    /// Sends all requests; the exit code is that of an interruption, or the first that is not 0, in the URLs' order.
    func run() async -> ExitCode {
        let code = invocation.parallelCount > 1 ? await runInParallel() : await runInTurn()
        return await first.keep() || code != .success ? code : .failure
    }

    private func runInTurn() async -> ExitCode {
        var result = ExitCode.success
        for index in 0..<invocation.urlCount {
            var code: ExitCode
            do {
                code = try await runner(at: index).perform()
            } catch {
                code = Self.tell(error)
            }
            if result == .success { result = code }
            if code.isInterruption { return code }
        }
        return result
    }

    private func runner(at index: Int) throws -> RequestRunner {
        index == 0 ? first : try RequestRunner(invocation.invocation(at: index), beside: first)
    }

    /// Prints why a request could not be made; returns the exit code.
    private static func tell(_ error: any Error) -> ExitCode {
        Terminal.tell("fireweed: \(error.plainText)\n")
        return error is UsageError ? .usage : .failure
    }

    // MARK: In parallel

    /// The result of a request that runs in parallel with others.
    private enum Result: Sendable {
        /// The response, to be printed when it is its turn.
        case fetched(RequestRunner, RequestRunner.Fetched)
        /// The content was saved in a file, or nothing could be sent.
        case finished(ExitCode)
    }

    /// Sends requests in parallel, and prints responses in the order of the URLs; early responses wait in memory.
    private func runInParallel() async -> ExitCode {
        let limit = invocation.parallelCount
        let interruption = Interruption { [session = first.session] in session.cancelAllRequests() }
        // No request runs far ahead of the oldest one, since its response would wait in memory.
        let results = ResultsInTurn<Result>(count: invocation.urlCount, lead: 8 * limit)
        // On the event loop there is no thread hop between requests. Files are not written there: the disk may block.
        let mayHaveFiles = invocation.savesToFile || invocation.curl != nil
        let executor = mayHaveFiles ? nil : first.session.executor
        var code = ExitCode.success
        await withDiscardingTaskGroup { group in
            for _ in 0..<min(limit, invocation.urlCount) {
                group.addTask(executorPreference: executor) { [self] in
                    while interruption.code == nil, let index = await results.begin() {
                        results.finish(index, await result(at: index, interruption))
                    }
                    // After an interruption no request begins: this wakes the workers that wait for a number, and the
                    // reader that waits for results.
                    if interruption.code != nil { results.stop() }
                }
            }
            while let ready = await results.next() {
                Terminal.gathering {
                    for result in ready where interruption.code == nil {
                        let ended = show(result)
                        if code == .success { code = ended }
                    }
                }
            }
        }
        return interruption.code ?? code
    }

    private func result(at index: Int, _ interruption: Interruption) async -> Result {
        do {
            let runner = try runner(at: index)
            guard runner.invocation.savesToFile else { return .fetched(runner, await runner.fetch(interruption)) }
            return .finished(await runner.download(interruption))
        } catch {
            return .finished(Self.tell(error))
        }
    }

    private func show(_ result: Result) -> ExitCode {
        switch result {
        case .finished(let code): code
        case .fetched(let runner, let fetched): runner.show(fetched)
        }
    }
}
