// Responses that are appended to a file, as curl's `-C` does it.

import Dispatch
import Fireweed
import Foundation

extension RequestRunner {
    /// Appends the response's content to a file as it arrives.
    ///
    /// `shared` is the interruption of several requests; with `nil`, a signal interrupts only this request.
    func append(to file: CURLAppendedFile, _ shared: Interruption?) async -> ExitCode {
        let request = session.streamRequest(compressedMessage, uploading: sentContent)
        authentication?.apply(to: request)
        request.validate { [weak request, made] _, _ in made.validation(of: request) }
        let meter = TransferMeter()
        if canShowMeter { request.downloadProgress(queue: .global()) { meter.show($0) } }
        let interruption = shared ?? Interruption { request.cancel() }
        let growth = FileGrowth(file, invocation)
        let hasHeads = invocation.curl?.includesHeads == true
        let completion = await withCheckedContinuation { continuation in
            request.onHTTPResponse(on: growth.queue) { [self, weak request] response in
                let heads = hasHeads ? request.map { receivedHeads(of: $0, inLastAttempt: true) } : nil
                growth.begin(response, heads: heads ?? [])
            }
            request.responseStream(on: growth.queue) { stream in
                switch stream.event {
                case .stream(.success(let content)):
                    growth.append(content)
                    if growth.failure != nil { stream.cancel() }
                case .complete(let end): continuation.resume(returning: end)
                }
            }
        }
        meter.end()
        if let code = interruption.code { return code }
        if shared == nil { interruption.end() }
        if let answer = completion.response { showHead(of: answer, request) }
        return finish(request, growth, completion)
    }

    private func finish(
        _ request: DataStreamRequest, _ growth: FileGrowth, _ completion: DataStreamRequest.Completion
    ) -> ExitCode {
        let path = growth.file.path
        if let failure = growth.failure {
            Terminal.tell("fireweed: \(path) cannot be written: \(failure)\n")
            return .failure
        }
        let outcome = RequestOutcome(request: request, error: completion.error, context: completion)
        guard outcome.error == nil, let response = completion.response else {
            if growth.hasGrown { note(Self.continuation) }
            return finish(outcome)
        }
        guard growth.isSaved(response) else {
            switch response.statusCode {
            // curl takes a 416 to mean that the file is complete.
            case 304, 416: return finish(outcome)
            case 206: Terminal.tell("fireweed: the server sent another part: \(path) stays as it is\n")
            case 200..<300: Terminal.tell("fireweed: the server sends no parts: \(path) stays as it is\n")
            default: return nothingSaved(outcome)
            }
            return .failure
        }
        note("\(growth.file.offset > 0 ? "Appended" : "Saved") to \(path)\n")
        if invocation.keepsRemoteTime { setTime(of: URL(fileURLWithPath: path), response) }
        return finish(outcome)
    }
}

/// A file that grows with the responses of one request.
private final class FileGrowth: @unchecked Sendable {
    let file: CURLAppendedFile
    /// The queue on which a request calls this object.
    let queue = DispatchQueue(label: "fireweed.command.append")
    private let invocation: Invocation
    // SAFETY: used only on the queue, and after the end of the request.
    private(set) var failure: String?
    private(set) var hasGrown = false
    private var output: CURLAppendedFile.Output?
    private var isOpen = false

    init(_ file: CURLAppendedFile, _ invocation: Invocation) {
        self.file = file
        self.invocation = invocation
    }

    /// Whether the content of a response is saved: with an offset, only if its range begins at the offset.
    func isSaved(_ response: HTTPURLResponse) -> Bool {
        if file.offset > 0 { return file.isContinued(by: response) }
        let status = response.statusCode
        return status != 304 && (invocation.savesEveryStatus || invocation.isSuccess(status))
    }

    /// Begins a response; removes the content of an earlier attempt, since a retry receives it again.
    func begin(_ response: HTTPURLResponse, heads: [[UInt8]]) {
        isOpen = isSaved(response)
        noteFailure {
            try output?.startAgain()
            hasGrown = false
            guard isOpen else { return }
            if output == nil { output = try file.open() }
            if !heads.isEmpty { try output?.append(Data(heads.joined())) }
        }
    }

    func append(_ content: Data) {
        guard isOpen else { return }
        noteFailure {
            try output?.append(content)
            hasGrown = true
        }
    }

    private func noteFailure(of work: () throws -> Void) {
        guard failure == nil else { return }
        do { try work() } catch { failure = error.plainText }
    }
}
