import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("Lifetime of the response cache", .timeLimit(.minutes(TestTimeouts.minutes)))
struct CacheLifetimeTests {
    enum Ending: CaseIterable { case whole, failed, cancelled, cancelledAtHead }

    @Test(
        "no attempt outlives its request, however a cacheable response ends", arguments: Ending.allCases, [false, true])
    func released(ending: Ending, isStoredAlready: Bool) async throws {
        let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=0\r\nContent-Length: 8\r\n\r\nhalf"
        let rest: [ScriptedServer.Action] =
            switch ending {
            case .whole: [.send("half"), .close]
            case .failed: [.close]
            case .cancelled, .cancelledAtHead: [.hold]
            }
        let first: [ScriptedServer.Action] = [.receiveHead, .send(head), .send("half"), .close]
        let scripts = (isStoredAlready ? [first] : []) + [[.receiveHead, .send(head)] + rest]
        let server = try ScriptedServer.start(scripts: scripts)
        weak var transport: (any Transport)?
        weak var store: (any ResponseStore)?
        do {
            let responses = MemoryResponseStore(tellsMisses: !isStoredAlready)
            let session = Session(configuration: .af.ephemeral, options: SessionOptions(responseStore: responses))
            (transport, store) = (session.transport, responses)
            if isStoredAlready { _ = await session.request(server.url()).serializingData().response }
            try await perform(ending, at: server.url(), in: session)
        }
        await eventually("transport and store go with session and requests") { transport == nil && store == nil }
    }

    private func perform(_ ending: Ending, at url: URL, in session: Session) async throws {
        switch ending {
        case .whole: #expect(await session.request(url).serializingData().response.value?.count == 8)
        case .failed: #expect(await session.request(url).serializingData().response.error != nil)
        case .cancelledAtHead:
            let request = session.request(url).onHTTPResponse(on: .global()) { _, decide in decide(.cancel) }
            #expect(await request.serializingData().response.error?.isExplicitlyCancelledError == true)
        case .cancelled:
            let request = session.streamRequest(url)
            for await stream in request.streamTask().streamingData() where stream.value != nil { request.cancel() }
            #expect(request.isCancelled)
        }
    }
}
