import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@Suite("The tasks of a shown URLSession", .timeLimit(.minutes(TestTimeouts.minutes)))
struct ShownTasksTests {
    let server: FixtureServer
    let session = Session.isolated()

    init() throws {
        server = try FixtureServer.start()
    }

    @Test("the usual recipe for ending everything finds the tasks and ends them")
    func cancelAll() async throws {
        let task = session.request(server.url("/delay/600")).serializingData()
        try await server.events.next(.requestReceived("/delay/600"))
        session.session.getAllTasks { tasks in tasks.forEach { $0.cancel() } }
        #expect(await task.response.error?.urlErrorCode == .cancelled)
    }

    @Test("tasks come by their kind, and those that have ended do not")
    func kinds() async throws {
        _ = await session.request(server.url("/get")).serializingData().response
        let data: Request = session.request(server.url("/delay/600")).resume()
        let upload: Request = session.upload(Data("x".utf8), to: server.url("/delay/600")).resume()
        let download: Request = session.download(server.url("/delay/600")).resume()
        for _ in 0..<3 { try await server.events.next(.requestReceived("/delay/600")) }
        let found = await withCheckedContinuation { continuation in
            session.session.getTasksWithCompletionHandler { data, uploads, downloads in
                let all: [[URLSessionTask]] = [data, uploads, downloads]
                continuation.resume(returning: all.map { $0.map(\.taskIdentifier) })
            }
        }
        #expect(found == [data, upload, download].map { [$0.task?.taskIdentifier ?? 0] })
        session.cancelAllRequests()
    }
}
