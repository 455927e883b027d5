import FixtureServer
import Foundation
import Testing

@Suite(
    "Names that lead to one machine", .enabled(if: NameWorld.obstacle == nil),
    .timeLimit(.minutes(TestTimeouts.minutes)))
struct NameLookupTests {
    /// What a request to each URL gives, in their order.
    private func answers(_ world: NameWorld, _ hosts: String...) throws -> [String] {
        let urls = hosts.map { "http://\($0):8080/" }.joined(separator: " ")
        let text = try world.output(of: TestPrograms.url.path, "network", "get", urls)
        return text.split(separator: "\n").map { String($0.drop { $0 != " " }.dropFirst()) }
    }

    @Test("a name without an address of one family is not searched for in that family", arguments: [1, 5])
    func wildcards(dotCount: Int) throws {
        for wildcard in [NameWorld.Wildcard.ipv4, .ipv6] {
            let world = NameWorld(wildcard: wildcard, dotCount: dotCount)
            // By the configuration, names with fewer dots are looked up under the search domain first.
            let first = dotCount == 1 ? "right" : "wrong"
            #expect(
                try answers(world, "good.test", "six.test", "good.test.", "six.test.", "internal.", "internal")
                    == [
                        "\(first) good.test:8080", "\(first) six.test:8080", "right good.test.:8080",
                        "right six.test.:8080", "right internal.:8080", "wrong internal:8080",
                    ], "\(wildcard)")
        }
    }

    @Test("an entry of the hosts file decides for both families")
    func hostsFile() throws {
        let world = NameWorld(wildcard: .ipv6, dotCount: 1)
        #expect(
            try answers(world, "staging.test", "staging.test.", "STAGING.test")
                == ["right staging.test:8080", "right staging.test.:8080", "right STAGING.test:8080"])
    }

    @Test("a name that the server does not know is not found, also where there is no route; without a server it is")
    func unknown() throws {
        let world = NameWorld(wildcard: .ipv4, dotCount: 1)
        #expect(try answers(world, "none.test.", "silent.test.") == ["failed -1003", "failed -1009"])
    }
}
