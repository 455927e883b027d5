import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("Servers that go away with requests in flight", .timeLimit(.minutes(TestTimeouts.minutes)))
struct GoingAwayTests {
    @Test(
        "200 requests at a time all succeed where each connection of HTTP/2 takes a few alone",
        arguments: [1, 5, 30])
    func fewRequestsPerConnection(count: Int) async throws {
        let authority = try CertificateAuthority()
        let nginx = try NginxServer(certificate: authority.issue(), requestsPerConnection: count)
        let url = try #require(nginx.secureURL).appendingPathComponent("small")
        var options = TransportOptions()
        options.certificateAuthorities = .file(authority.certificate)
        let session = Session.isolated(transportOptions: options)
        let responses = await withTaskGroup(of: DataResponse<Data, AFError>.self) { group in
            for number in 0..<200 {
                group.addTask {
                    let method = number.isMultiple(of: 2) ? HTTPMethod.get : .post
                    return await session.request(url, method: method).serializingData().response
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(responses.compactMap(\.error).isEmpty)
        #expect(responses.allSatisfy { $0.metrics?.transactionMetrics.last?.networkProtocolName == "h2" })
        // Only the first connection is given more than it takes.
        let tries = responses.compactMap { $0.metrics?.transactionMetrics.count }
        #expect(tries.reduce(0, +) <= 2 * 200, "\(tries.sorted())")
    }
}
