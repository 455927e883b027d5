// Streams, and server-sent events.

import Fireweed
import Foundation

extension OperationRun {
    func runStream() async {
        let request = makeStream()
        let meddler = makeMeddler()
        for number in 0..<operation.reading.handlerCount {
            addHandler("stream handler \(number)", to: request, meddler)
        }
        guard operation.reading.isAwaited else { return begin(request, meddler) }
        let stream = request.streamTask().streamingData()
        let ticket = record.expect("end of the sequence")
        let follower = self.follower
        await task.run {
            var count = 0
            var iterator = stream.makeAsyncIterator()
            begin(request, meddler)
            while let element = await iterator.next() {
                take(element, follower, meddler, request) { ticket.call($0) }
                count += 1
                if let limit = operation.elementLimit, count > limit { break }
            }
            // A sequence delivers no completion if it is abandoned or its task is cancelled: none is expected then.
            if operation.elementLimit != nil || Task.isCancelled { ticket.callIfMissing() }
        }
    }

    /// Makes a request that starts only with `resume()`: if its first handler started it, later handlers would miss the
    /// beginning.
    private func makeStream() -> DataStreamRequest {
        make {
            $0.streamRequest(
                url, interceptor: interceptor, shouldAutomaticallyResume: false, requestModifier: modifier)
        }
    }

    /// Prepares and starts a request, to which all listeners but the late ones were added.
    private func begin(_ request: DataStreamRequest, _ meddler: Meddler) {
        if operation.headDecision != nil || meddler.awaits(.head) {
            request.onHTTPResponse(on: queue) { [weak request] _, completion in
                decide(meddler, request, completion)
            }
        }
        request.validate { [weak request] _, _ in
            meddler.reached(.validation, request)
            return .success(())
        }
        if operation.validates { request.validate(statusCode: 200..<300) }
        prepare(request, meddler)
        request.resume()
    }

    private func makeMeddler() -> Meddler {
        Meddler(record, slot: slot, task: task) { [self] request in
            if let request = request as? DataStreamRequest { addHandler("late stream handler", to: request, nil) }
        }
    }

    /// A new follower that accepts all contents that the plan allows: the resource, or the text of a 503, 401 or
    /// redirect.
    private var follower: ContentFollower {
        let target = operation.target
        return ContentFollower(
            [KnownContent.bytes(id: target.id, count: target.byteCount)]
                + ["unavailable", "unauthorized", "elsewhere"].map { Data($0.utf8) })
    }

    /// Adds a handler.
    ///
    /// A handler without a meddler is late and may miss the beginning: only its completion is checked.
    private func addHandler(_ name: String, to request: DataStreamRequest, _ meddler: Meddler?) {
        let ticket = record.expect(name)
        let follower = self.follower
        request.responseStream(on: queue) { [weak request] stream in
            guard let meddler else {
                if let completion = stream.completion {
                    ticket.call(Outcome(completion.response, error: completion.error))
                }
                return
            }
            take(stream, follower, meddler, request) { ticket.call($0) }
        }
    }

    private func take(
        _ stream: DataStreamRequest.Stream<Data, Never>, _ follower: ContentFollower, _ meddler: Meddler,
        _ request: DataStreamRequest?, end: (Outcome) -> Void
    ) {
        switch stream.event {
        case .stream(.success(let data)):
            record.note("\(data.count) bytes")
            if !follower.take(data) { record.fault("a piece that is no part of the content: \(data.count) bytes") }
            meddler.reached(.element, request)
        case .complete(let completion):
            meddler.reached(.handler, request)
            if completion.error == nil, !follower.isWhole { record.fault("a success without the whole content") }
            end(Outcome(completion.response, error: completion.error, isValidated: operation.validates))
        }
    }

    // MARK: Server-sent events

    func runEvents() async {
        let request = makeStream()
        let meddler = makeMeddler()
        // The limit ends an event source whose connections all time out, which would otherwise reconnect for ever.
        var reconnection = ServerSentEvent.Reconnection.automatic
        reconnection.maximumFailureCount = 3
        let events = request.serverSentEvents(reconnection: reconnection)
        let ticket = record.expect("end of the events")
        await task.run {
            var count = 0
            do throws(AFError) {
                var iterator = events.makeAsyncIterator()
                begin(request, meddler)
                while let event = try await iterator.next() {
                    count += 1
                    record.note("event \(event.data)")
                    meddler.reached(.element, request)
                    if event.data != "\(operation.target.id)-\(count)" {
                        record.fault("event \(event.data) instead of number \(count)")
                    }
                    if let limit = operation.elementLimit, count > limit { break }
                }
                let isWhole = count == operation.target.byteCount || operation.elementLimit != nil
                if !isWhole { record.fault("a success after \(count) of \(operation.target.byteCount) events") }
                ticket.call()
            } catch {
                ticket.call(Outcome(nil, error: error))
            }
        }
    }
}
