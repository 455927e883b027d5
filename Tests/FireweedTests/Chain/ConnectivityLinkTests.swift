import FireweedTransport
import Foundation
import FoundationNetworking
import Testing

@testable import Fireweed

@Suite("Connectivity link")
struct ConnectivityLinkTests {
    private static let offline = TransferFailure.exchange(.notConnectedToInternet, detail: "", engineCode: 0)

    @Test("there is always a route to this machine: nothing waits, and a failure stands")
    func loopback() async throws {
        let link = try #require(ConnectivityLink(TransportOptions()))
        let host = StubHost()
        var exchange = ChainContext(OutgoingMessage("http://127.0.0.1/"))
        let sent = link.send(&exchange, for: host)
        #expect(await sent.summary(exchange) == "pass")
        let recovered = link.ended(.failed(Self.offline), of: exchange, for: host)
        #expect(recovered.summary == "pass")
        #expect(host.announced.all == [])
    }

    @Test("a session whose bytes go through a Unix socket has no such link")
    func unixSocket() {
        var options = TransportOptions()
        options.unixSocketPath = "/run/x.sock"
        #expect(ConnectivityLink(options) == nil)
    }

    @Test("a failure of another kind stands, and so does one that a stored response may answer")
    func otherFailures() async throws {
        let link = try #require(ConnectivityLink(TransportOptions()))
        var exchange = ChainContext(OutgoingMessage("http://192.0.2.1/"))
        let refused = TransferFailure.exchange(.cannotConnectToHost, detail: "", engineCode: 0)
        let first = link.ended(.failed(refused), of: exchange, for: StubHost())
        #expect(first.summary == "pass")
        let head = StoredHead(
            response: ResponseHead(200), requestTime: Date(), responseTime: Date(),
            variant: ResponseVariant(names: [], selection: Data(), credentials: Data()))
        exchange.cacheNote = CacheNote(
            lookup: CacheLookup(
                CacheQuery(exchange, policy: .useProtocolCachePolicy, in: .none),
                stored: StoredResponse(head: head, content: Data()), toleratesError: true),
            moment: ResponseCache.none.moment)
        let second = link.ended(.failed(Self.offline), of: exchange, for: StubHost())
        #expect(second.summary == "pass")
    }
}
