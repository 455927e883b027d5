import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@Suite("ResponseCacher", .timeLimit(.minutes(TestTimeouts.minutes)))
struct ResponseCacherTests {
    private let sessions = ProtectedList<Session>()
    /// A task and a response that could be stored for it.
    private func candidate() async throws -> (URLSessionDataTask, CachedURLResponse) {
        let request = Session.scripted(keptBy: sessions) { _ in 200 }.request("https://service.example/")
        _ = await request.serializingData().response
        let task = try #require(request.task as? URLSessionDataTask)
        let response = try #require(request.response)
        return (task, CachedURLResponse(response: response, data: Data("stored".utf8)))
    }

    private func decision(_ handler: any CachedResponseHandler) async throws -> Data? {
        let (task, response) = try await candidate()
        return await withCheckedContinuation { continuation in
            handler.dataTask(task, willCacheResponse: response) { continuation.resume(returning: $0?.data) }
        }
    }

    @Test("stores, or not, or changes")
    func behaviours() async throws {
        #expect(try await decision(.cache) == Data("stored".utf8))
        #expect(try await decision(.doNotCache) == nil)
        #expect(try await decision(ResponseCacher(behavior: .cache)) == Data("stored".utf8))
        let changed = try await decision(
            .modify { task, response in
                CachedURLResponse(
                    response: response.response, data: Data("\(task.originalRequest?.httpMethod ?? "")".utf8))
            })
        #expect(changed == Data("GET".utf8))
        #expect(try await decision(.modify { _, _ in nil }) == nil)
    }
}
