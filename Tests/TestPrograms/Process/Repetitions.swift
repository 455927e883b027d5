// Heap growth of repeated work.

import CAllocationCount
import Fireweed
import Foundation

/// Does something again and again, and prints, as one line of JSON, the bytes on the heap after the first and after the
/// last repetitions.
struct Repetitions {
    /// What is done.
    enum Job: String {
        /// Downloads an empty file, and reads it.
        case download
        /// Cancels a request whose content has come, while somebody decides about its head.
        case cancelUndecided
        /// The same, where the content has made the transfer fail.
        case cancelFailed
    }

    let job: Job
    private let server: String
    private let session: Session

    /// `server` has the endpoints `/bytes` and `/broken`; `authority` is the path of its authority's certificate.
    init(_ job: Job, server: String, authority: String?) {
        self.job = job
        self.server = server
        var options = TransportOptions()
        if let authority { options.certificateAuthorities = .file(URL(fileURLWithPath: authority)) }
        session = Session(configuration: .af.ephemeral, transportOptions: options)
    }

    func run() async throws {
        fw_count_allocations()
        // Other streams use the connection all the time.
        let lasting = job == .download ? nil : await undecided("/bytes/100000")
        for _ in 0..<10 { await work() }
        let first = Int(fw_heap_byte_count())
        for _ in 0..<100 { await work() }
        let last = Int(fw_heap_byte_count())
        if let lasting { await cancel(lasting) }
        print(String(decoding: try JSONEncoder().encode([first, last]), as: UTF8.self))
    }

    private func work() async {
        switch job {
        case .download: _ = await session.download("\(server)/bytes/0").serializingData().result
        case .cancelUndecided: await cancel("/bytes/100000")
        case .cancelFailed: await cancel("/broken")
        }
    }

    private func cancel(_ path: String) async {
        let undecided = await undecided(path)
        // Its response comes behind the content that is not wanted.
        _ = await session.request("\(server)/bytes/100").serializingData().result
        await cancel(undecided)
    }

    private typealias Undecided = (request: DataRequest, ends: AsyncStream<Void>)

    /// Makes a request, and waits for the head of its response; the handler never decides.
    private func undecided(_ path: String) async -> Undecided {
        let (heads, head) = AsyncStream<Void>.makeStream()
        let (ends, end) = AsyncStream<Void>.makeStream()
        let request = session.request("\(server)\(path)")
            .onHTTPResponse(on: .global()) { _, _ in head.finish() }
            .response(queue: .global()) { _ in
                head.finish()  // unless there was one
                end.finish()
            }
        for await _ in heads {}
        return (request, ends)
    }

    private func cancel(_ undecided: Undecided) async {
        undecided.request.cancel()
        for await _ in undecided.ends {}
    }
}
