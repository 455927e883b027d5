// Downloads, and the downloads that resume them.

import Fireweed
import Foundation

extension OperationRun {
    func runDownload(_ place: Operation.Place) async {
        let request = make { session in
            session.download(
                url, interceptor: interceptor, requestModifier: modifier, to: destination(for: place))
        }
        if case .resumable = place { request.resumable(at: partialFile) }
        await read(request)
        switch place {
        case .resumable: if request.error != nil { await continueFromFile() }
        case .temporary, .destination: await continueFromData(request.resumeData)
        }
    }

    private var partialFile: URL { folder.appendingPathComponent("partial-\(operation.number)") }
    private var wholeFile: URL { folder.appendingPathComponent("whole-\(operation.number)") }

    private func destination(for place: Operation.Place) -> DownloadRequest.Destination? {
        guard case .destination = place else { return nil }
        return { [wholeFile] _, _ in (wholeFile, [.removePreviousFile, .createIntermediateDirectories]) }
    }

    private func read(_ request: DownloadRequest) async {
        let validates = operation.validates
        let meddler = Meddler(record, slot: slot, task: task) { [record, queue] request in
            let ticket = record.expect("late download handler")
            // A handler without a serialiser would own the temporary file, and this test would have to remove it.
            (request as? DownloadRequest)?.responseData(queue: queue) { response in
                ticket.call(Outcome(response.response, error: response.error, content: response.value))
            }
        }
        request.validate { [weak request] _, _, _ in
            meddler.reached(.validation, request)
            return .success(())
        }
        if operation.validates { request.validate(statusCode: 200..<300) }
        prepare(request, meddler)
        for number in 0..<operation.reading.handlerCount {
            let ticket = record.expect("download handler \(number)")
            request.responseData(queue: queue) { [weak request] response in
                meddler.reached(.handler, request)
                ticket.call(
                    Outcome(response.response, error: response.error, content: response.value, isValidated: validates))
            }
        }
        let awaiting = operation.reading.isAwaited ? request.serializingData(automaticallyCancelling: true) : nil
        begin(request)
        guard let awaiting else { return await record.waitForCallbacks() }
        let ticket = record.expect("awaited download")
        await task.run {
            let response = await awaiting.response
            ticket.call(
                Outcome(response.response, error: response.error, content: response.value, isValidated: validates))
        }
        await record.waitForCallbacks()
    }

    // MARK: Continuing

    /// Downloads into the same partial file again, without a meddler.
    private func continueFromFile() async {
        guard case .orderly = operation.target.server else { return }
        let request = make { $0.download(url, interceptor: interceptor).resumable(at: partialFile) }
        await finish(request, "continued download")
    }

    private func continueFromData(_ data: Data?) async {
        guard let data else { return }
        record.note("resume data about \((try? ResumeData(data))?.file.path ?? "nothing")")
        if case .orderly = operation.target.server {
            let request = make { $0.download(resumingWith: data) }
            await finish(request, "resumed download")
        }
        // The partial file of the resume data belongs to the caller, which removes it here.
        if let file = (try? ResumeData(data))?.file {
            try? FileManager.default.removeItem(at: file)
            try? FileManager.default.removeItem(at: file.deletingLastPathComponent())
        }
    }

    private func finish(_ request: DownloadRequest, _ name: String) async {
        let ticket = record.expect(name)
        let awaiting = request.serializingData()
        begin(request)
        let response = await awaiting.response
        ticket.call(Outcome(response.response, error: response.error, content: response.value))
    }
}
