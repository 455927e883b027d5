import Foundation
import Testing

@testable import FireweedTransport

@Suite("The hosts file, for complete names")
struct HostsFileTests {
    private static let text = """
        # 192.0.2.9 api.test
        127.0.0.1\tlocalhost
        192.0.2.1  other.test  API.test api # 192.0.2.8
        2001:db8::1 api.test\r
        not.an.address api.test
        192.0.2.1 api.test
        192.0.2.2 api.test.example #api.test
        192.0.2.3
        """

    @Test(
        "an entry is found by each of its names, without case",
        arguments: [
            ("api.test", ["192.0.2.1", "2001:db8::1"]), ("Other.test", ["192.0.2.1"]), ("api", ["192.0.2.1"]),
            ("api.test.example", ["192.0.2.2"]), ("test", []), ("192.0.2.3", []), ("", []),
        ] as [(String, [String])])
    func entries(name: String, expected: [String]) {
        let addresses = expected.compactMap { IPAddress($0) }.map { SocketAddress.internet($0, port: 0) }
        #expect(HostsFile.addresses(of: name, in: Data(Self.text.utf8)) == addresses)
    }
}
