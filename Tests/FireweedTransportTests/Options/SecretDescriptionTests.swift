import Foundation
import Testing

@testable import FireweedTransport

@Suite("Descriptions of values with secrets")
struct SecretDescriptionTests {
    private func texts(_ value: Any) -> [String] {
        var dumped = ""
        dump(value, to: &dumped)
        return ["\(value)", String(reflecting: value), dumped]
    }

    @Test("a proxy shows where it is, without user and password, also inside options")
    func proxy() {
        let proxy = Proxy(.socks5, host: "::1", port: 1080, user: "ada", password: "hidden")
        #expect("\(proxy)" == "socks5://[::1]:1080")
        #expect("\(Proxy.none)" == "no proxy")
        var options = TransportOptions()
        options.proxy = proxy
        options.configuredProxies = ConfiguredProxies([
            "HTTPEnable": 1, "HTTPProxy": "proxy.test", "HTTPPort": 1, "HTTPUser": "ada", "HTTPPassword": "hidden",
        ])
        options.clientIdentity = ClientIdentity(pkcs12: URL(fileURLWithPath: "/identity"), passphrase: "hidden")
        for text in texts(proxy) + texts(options) {
            #expect(!text.contains("hidden") && !text.contains("ada"), "\(text)")
        }
    }

    @Test("credentials show nothing, also inside a message")
    func credentials() {
        let credentials = RequestMessage.Credentials(user: "ada", password: "hidden")
        for text in texts(credentials) { #expect(!text.contains("hidden") && !text.contains("ada"), "\(text)") }
    }
}
