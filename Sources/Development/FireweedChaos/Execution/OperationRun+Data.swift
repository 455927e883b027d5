// Data requests and uploads.

import Fireweed
import Foundation

extension OperationRun {
    func runData() async {
        let request = make { $0.request(url, interceptor: interceptor, requestModifier: modifier) }
        await read(request)
    }

    func runUpload(_ content: Operation.Content) async {
        let data = KnownContent.bytes(id: operation.target.id, count: operation.target.byteCount)
        let file = folder.appendingPathComponent("upload-\(operation.number)")
        if case .file = content {
            do { try data.write(to: file) } catch { return record.fault("no file to upload: \(error)") }
        }
        let request: UploadRequest = make { session in
            switch content {
            case .data: session.upload(data, to: url, interceptor: interceptor, requestModifier: modifier)
            case .file: session.upload(file, to: url, interceptor: interceptor, requestModifier: modifier)
            case .stream:
                session.upload(
                    InputStream(data: data), to: url, interceptor: interceptor, requestModifier: modifier)
            case .form:
                session.upload(
                    multipartFormData: GeneratedContent.form(of: operation), to: url, interceptor: interceptor,
                    requestModifier: modifier)
            }
        }
        await read(request)
    }

    private func read(_ request: DataRequest) async {
        let meddler = Meddler(record, slot: slot, task: task) { [self] request in
            if let request = request as? DataRequest { addHandler("late handler", to: request, nil) }
        }
        if operation.headDecision != nil || meddler.awaits(.head) {
            request.onHTTPResponse(on: queue) { [weak request] _, completion in
                decide(meddler, request, completion)
            }
        }
        request.validate { [weak request] _, _, _ in
            meddler.reached(.validation, request)
            return .success(())
        }
        if operation.validates { request.validate(statusCode: 200..<300) }
        prepare(request, meddler)
        for number in 0..<operation.reading.handlerCount { addHandler("handler \(number)", to: request, meddler) }
        let awaiting = operation.reading.isAwaited ? request.serializingData(automaticallyCancelling: true) : nil
        begin(request)
        guard let awaiting else { return }
        let (ticket, validates) = (record.expect("awaited response"), operation.validates)
        await task.run {
            let response = await awaiting.response
            ticket.call(
                Outcome(response.response, error: response.error, content: response.value, isValidated: validates))
        }
    }

    /// Adds a handler: without a serialiser if the name ends with 1, otherwise with the serialiser of data.
    private func addHandler(_ name: String, to request: DataRequest, _ meddler: Meddler?) {
        let (ticket, validates) = (record.expect(name), operation.validates)
        if name.hasSuffix("1") {
            request.response(queue: queue) { [weak request] response in
                meddler?.reached(.handler, request)
                let content = response.error == nil ? response.data ?? Data() : nil
                ticket.call(Outcome(response.response, error: response.error, content: content, isValidated: validates))
            }
        } else {
            request.responseData(queue: queue) { [weak request] response in
                meddler?.reached(.handler, request)
                ticket.call(
                    Outcome(response.response, error: response.error, content: response.value, isValidated: validates))
            }
        }
    }
}
