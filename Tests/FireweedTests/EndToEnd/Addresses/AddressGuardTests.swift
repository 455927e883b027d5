import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("Address guard", .timeLimit(.minutes(TestTimeouts.minutes)))
struct AddressGuardTests {
    @Test(
        "what is not out in the Internet is refused",
        arguments: [
            "0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1",
            "172.31.255.255", "192.168.1.1", "192.0.2.1", "198.18.0.1", "203.0.113.9", "224.0.0.1", "239.1.1.1",
            "240.0.0.1", "255.255.255.255",
            "::", "::1", "fe80::1", "fc00::1", "fd12:3456::1", "ff02::1", "2001:db8::1", "100::1", "fec0::1",
            "::ffff:127.0.0.1",  // mapped
            "::ffff:10.0.0.1", "::127.0.0.1",  // compatible
            "64:ff9b::10.0.0.1", "::ffff:0:10.0.0.1", "::ffff:0:8.8.8.8",  // translated
            "2002:7f00:1::",  // 6to4 of 127.0.0.1
            "2001:0:1:2:3:4:80ff:fffe",  // Teredo of 127.0.0.1
            "100:0:0:1::1", "2001:2::1", "2001:1ff::1", "2001:20::1", "3fff::1", "64:ff9b:1::1", "5f00::1",
        ])
    func refused(text: String) throws {
        let address = try #require(IPAddress(text))
        #expect(!AddressGuard.publicOnly.allows(address))
        #expect(AddressGuard.none.allows(address))
    }

    @Test(
        "what is out there is allowed",
        arguments: [
            "1.1.1.1", "8.8.8.8", "172.15.255.255", "172.32.0.1", "100.63.255.255", "100.128.0.1", "192.167.1.1",
            "223.255.255.255", "2606:4700::1111", "2a00:1450::1", "2001:200::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
            "2002:808:808::",
        ])
    func allowed(text: String) throws {
        #expect(AddressGuard.publicOnly.allows(try #require(IPAddress(text))))
    }

    @Test("an exception goes before a refusal")
    func exceptions() throws {
        let network = try #require(IPNetwork("10.1.0.0/16"))
        let some = AddressGuard.publicOnly(except: [network])
        #expect(some.allows(try #require(IPAddress("10.1.2.3"))))
        #expect(some.allows(try #require(IPAddress("::ffff:10.1.2.3"))))
        #expect(!AddressGuard(refusing: [network]).allows(try #require(IPAddress("::ffff:0:10.1.2.3"))))
        #expect(!some.allows(try #require(IPAddress("10.2.0.1"))))
    }

    @Test("networks are read and written in CIDR notation")
    func networks() throws {
        #expect(try #require(IPNetwork("10.0.0.0/8")).contains(try #require(IPAddress("10.255.0.1"))))
        #expect(try #require(IPNetwork("172.16.0.0/12")).description == "172.16.0.0/12")
        #expect(try #require(IPNetwork("fe80::/10")).contains(try #require(IPAddress("febf::1"))))
        #expect(!(try #require(IPNetwork("0.0.0.0/0")).contains(try #require(IPAddress("::1")))))
        for text in ["", "10.0.0.0/33", "10.0.0.0/-1", "::/129", "10.0.0/8", "a/8", "10.0.0.0/8/8", "10.0.0.0/"] {
            #expect(IPNetwork(text) == nil, "\(text)")
        }
        #expect(IPAddress("127.1") == nil && IPAddress("") == nil && IPAddress("::ffff:1.2.3.4")?.bytes.count == 16)
    }

    private func refusal(_ url: String, _ addressGuard: AddressGuard) async -> (AFError?, TransferRefusal?) {
        var options = TransportOptions()
        options.addressGuard = addressGuard
        let session = Session.isolated(transportOptions: options)
        defer { withExtendedLifetime(session) {} }
        let error = await session.request(url).serializingData().response.error
        return (error, (error?.underlyingError as? URLError)?.userInfo[NSUnderlyingErrorKey] as? TransferRefusal)
    }

    @Test(
        "every spelling of loopback is refused before a connection is opened",
        arguments: [
            "127.0.0.1", "localhost", "any.localhost", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0.0.0.0",
            "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
        ])
    func spellings(host: String) async throws {
        let server = try FixtureServer.start()
        let (error, refusal) = await refusal("http://\(host):\(server.port)/get", .publicOnly)
        guard case .address = refusal else {
            Issue.record("\(host): \(String(describing: error))")
            return
        }
        #expect(error?.urlErrorCode == .resourceUnavailable)
        #expect(server.requests.isEmpty)
    }

    @Test("a redirect is refused like a request; what is excepted goes through")
    func redirect() async throws {
        let server = try FixtureServer.start()
        let own = try #require(IPNetwork("127.0.0.1"))
        let some = AddressGuard.publicOnly(except: [own])
        let (allowed, _) = await refusal(server.url("/get").absoluteString, some)
        #expect(allowed == nil)
        let (_, refused) = await refusal(
            server.url("/redirect-to?url=http://127.0.0.2:\(server.port)/get").absoluteString, some)
        #expect(refused == .address(try #require(IPAddress("127.0.0.2"))))
        #expect(server.requests.count == 2)
    }
}
