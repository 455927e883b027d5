import Fireweed
import FireweedTransport
import FixtureServer
import Foundation
import FoundationNetworking
import Synchronization
import Testing

private enum Tenant: RequestValueKey { typealias Value = String }
private enum Stage: RequestValueKey { typealias Value = Int }

private enum Caller {
    @TaskLocal static var tenant: String?
    @TaskLocal static var stage: Int?
}

/// Keeps the owners of the messages that pass.
private final class OwnerRecorder: TransportDecorator, @unchecked Sendable {
    // SAFETY: the stored property is a `let` of `Sendable` type.
    let owners = ProtectedList<MessageOwner?>()

    override func makeTransfer(
        of message: consuming RequestMessage, for consumer: any TransferConsumer
    ) -> any TransferControl {
        owners.append(message.owner)
        return super.makeTransfer(of: message, for: consumer)
    }
}

@Suite("Request values", .timeLimit(.minutes(TestTimeouts.minutes)))
struct RequestValuesTests {
    private static let captures: [RequestValues.Capture] = [
        { values in
            values[Tenant.self] = Caller.tenant
            values[Stage.self] = Caller.stage
        }
    ]

    private static func session(
        on transport: any Transport = ScriptedTransport { _ in [.head(ResponseHead(status: 204, fields: []))] },
        interceptor: (any RequestInterceptor)? = nil, eventMonitors: [any EventMonitor] = []
    ) -> Session {
        Session(
            transport: transport, interceptor: interceptor, eventMonitors: eventMonitors,
            options: SessionOptions(valueCaptures: captures))
    }

    @Test("the values of the first resume take precedence over those of the creation, where there are any")
    func moments() async {
        let session = Self.session()
        let request = Caller.$tenant.withValue("maker") {
            Caller.$stage.withValue(1) { session.request("https://a.test/") }
        }
        #expect(request.values[Tenant.self] == "maker" && request.values[Stage.self] == 1)
        let task = Caller.$tenant.withValue("resumer") { request.serializingData(emptyResponseCodes: [204]) }
        #expect(request.values[Tenant.self] == "resumer" && request.values[Stage.self] == 1)
        _ = Caller.$tenant.withValue("late") { request.resume() }
        _ = await task.response
        #expect(request.values[Tenant.self] == "resumer")
    }

    @Test("a value that is set takes precedence over captured ones, until it is removed")
    func ownValue() {
        let session = Self.session()
        let request = Caller.$tenant.withValue("caller") {
            session.request("https://a.test/").value("own", for: Tenant.self).resume()
        }
        #expect(request.values[Tenant.self] == "own")
        #expect(request.value(nil, for: Tenant.self).values[Tenant.self] == "caller")
        #expect(request.value(7, for: Stage.self).values[Stage.self] == 7)
    }

    @Test("without captures and without a set value there are none")
    func none() {
        let request = Session().request("https://a.test/")
        #expect(request.values.isEmpty && request.values[Tenant.self] == nil)
        #expect(!request.value(1, for: Stage.self).values.isEmpty)
        #expect(request.value(nil, for: Stage.self).values.isEmpty)
    }

    @Test("each message of the wire says whose it is: redirects and retries have numbers of their own")
    func owners() async throws {
        let answers = Mutex([302, 503, 200])
        let transport = OwnerRecorder(
            ScriptedTransport { _ in
                let status = answers.withLock { $0.removeFirst() }
                return [.head(ResponseHead(status: status, fields: [Field(name: "Location", value: "/next")]))]
            })
        let session = Self.session(on: transport, interceptor: RetryPolicy(exponentialBackoffScale: 0))
        let request = Caller.$tenant.withValue("acme") { session.request("https://a.test/").validate() }
        _ = try await request.urlTemplate("/{page}").serializingData(emptyResponseCodes: [200]).value
        let owners = transport.owners.all.compactMap(\.self)
        #expect(owners.map(\.requestID) == [request.id, request.id, request.id])
        #expect(owners.map(\.attemptNumber) == [0, 0, 1])
        #expect(owners.map(\.messageNumber) == [0, 1, 2])
        #expect(owners.map { $0.values[Tenant.self] } == ["acme", "acme", "acme"])
        #expect(owners.map(\.urlTemplate) == ["/{page}", "/{page}", "/{page}"])
    }

    @Test("a monitor can ask for values, and for the attempt that an event belongs to")
    func monitors() async throws {
        let numbers = ProtectedList<Int?>()
        let tenants = ProtectedList<String?>()
        let monitor = ClosureEventMonitor()
        monitor.requestDidCompleteTaskWithError = { request, task, _ in
            numbers.append(request.attemptNumber(of: task))
            tenants.append(request.values[Tenant.self])
        }
        let answers = Mutex([503, 503, 200])
        let session = Self.session(
            on: ScriptedTransport { _ in
                [.head(ResponseHead(status: answers.withLock { $0.removeFirst() }, fields: []))]
            }, interceptor: RetryPolicy(exponentialBackoffScale: 0), eventMonitors: [monitor])
        let request = session.request("https://a.test/").validate().value("acme", for: Tenant.self)
        _ = try await request.serializingData(emptyResponseCodes: [200]).value
        await eventually("three attempts are reported") { numbers.all.count == 3 }
        #expect(numbers.all == [0, 1, 2] && tenants.all == ["acme", "acme", "acme"])
        let other = session.request("https://a.test/")
        #expect(try other.attemptNumber(of: #require(request.lastTask)) == nil)
        #expect(request.attemptNumber(of: URLSession.shared.dataTask(with: URL(fileURLWithPath: "/"))) == nil)
    }

    @Test("a decorator of the engine forwards everything, and metrics need no URLRequest")
    func engine() async throws {
        let server = try FixtureServer.start()
        let engine = EngineTransport()
        let transport = OwnerRecorder(engine)
        #expect(transport.abilities == engine.abilities && transport.executor === engine.executor)
        let session = Self.session(on: transport)
        let url = server.url("/anything")
        let request = session.request(url, method: .put)
        _ = try await request.serializingData().value
        #expect(transport.owners.all.map { $0?.requestID } == [request.id])
        let metrics = try #require(request.metrics?.transactionMetrics.last)
        #expect(metrics.url == url && metrics.method == "PUT" && metrics.statusCode == 200)
        #expect(try #require(metrics.connectionWaitDuration) >= .zero)
        let text = Redaction.standard.text(ofURL: "https://a.test/?token=1&a=2")
        #expect(text == "https://a.test/?token=[redacted]&a=2")
    }
}
