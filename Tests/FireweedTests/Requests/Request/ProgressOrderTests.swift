import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("The order of progress and response", .timeLimit(.minutes(TestTimeouts.minutes)))
struct ProgressOrderTests {
    @Test(
        "progress handlers on the root queue are called before the response handler on another queue",
        arguments: [true, false])
    func rootQueue(isUpload: Bool) async throws {
        let server = try FixtureServer.start()
        let session = Session.isolated()
        let queue = DispatchQueue(label: "responses")
        // Without the order, about every seventh request calls its handlers the wrong way round.
        for _ in 0..<200 {
            let calls = ProtectedList<String>()
            await withCheckedContinuation { continuation in
                let url = server.url("/bytes/100")
                let request =
                    isUpload
                    ? session.upload(Data(count: 100), to: url)
                        .uploadProgress(queue: session.rootQueue) { _ in calls.append("progress") }
                    : session.request(url)
                        .downloadProgress(queue: session.rootQueue) { _ in calls.append("progress") }
                request.response(queue: queue) { _ in
                    calls.append("response")
                    session.rootQueue.async { continuation.resume() }
                }
            }
            #expect(calls.all.last == "response" && calls.all.count > 1)
        }
    }

    @Test("a download that its progress handler cancels has resume data in its response, every time")
    func cancelledByProgress() async throws {
        let script: [ScriptedServer.Action] = [
            .receiveHead, .send("HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: 10\r\n\r\n01234"), .hold,
        ]
        let session = Session.isolated()
        for _ in 0..<50 {
            let server = try ScriptedServer.start(script)
            let request = session.download(server.url())
            request.downloadProgress(queue: DispatchQueue(label: "progress")) { [weak request] _ in
                request?.cancel(producingResumeData: true)
            }
            let response = await request.serializingData().response
            #expect(response.error?.isExplicitlyCancelledError == true && response.resumeData != nil)
            #expect(request.resumeData == response.resumeData)
        }
    }
}
