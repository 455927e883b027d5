import Testing

@testable import FireweedTransport

@Suite("Addresses without a look-up")
struct HostAddressesTests {
    @Test(
        "addresses, names of loopback, and what the options know are not looked up",
        arguments: [
            ("example.com", nil), ("vm", nil), ("known.test.example", nil), ("127.0.0.1", ["127.0.0.1"]),
            ("2001:db8::1", ["2001:db8::1"]), ("localhost", ["::1", "127.0.0.1"]),
            ("localhost.", ["::1", "127.0.0.1"]), ("hidden.onion.", []),
            ("known.test.", ["192.0.2.1", "2001:db8::2"]),
            ("a.localhost", ["::1", "127.0.0.1"]), ("notlocalhost", nil), ("hidden.onion", []), ("onion", []),
            ("known.test", ["192.0.2.1", "2001:db8::2"]),
        ] as [(String, [String]?)])
    func known(host: String, expected: [String]?) {
        let found = HostAddresses.known(of: host, overrides: ["Known.test": ["192.0.2.1", "2001:db8::2"]])
        let addresses = expected?.compactMap { IPAddress($0) }.map { SocketAddress.internet($0, port: 0) }
        #expect(found == addresses)
    }
}
