// Namespaces that begin alike.

import FireweedFleet
import FixtureServer
import Testing

@Suite("Namespaces of a fleet's cache", .timeLimit(.minutes(TestTimeouts.minutes)))
struct FleetNamespaceTests {
    @Test(
        "removing the responses of a namespace leaves the keys of a namespace that begins alike",
        arguments: ["cache-eu", FleetCache.form, "\(FleetCache.form)-eu"])
    func namespaces(rest: String) async throws {
        let server = try RedisServer()
        var configuration = Fleet.Configuration.patient
        configuration.namespace = "shop"
        let shop = try Fleet(url: server.url, configuration: configuration)
        configuration.namespace = "shop:\(rest)"
        let other = try Fleet(url: server.url, configuration: configuration)
        try await shop.command("SET", shop.key(FleetCache.form, "a"), "1")
        for purpose in ["credential", FleetCache.form, "slots:api"] {
            try await other.command("SET", other.key(purpose, "a"), "1")
        }
        try await FleetCache(fleet: shop).removeAllResponses()
        #expect(try await shop.command("EXISTS", shop.key(FleetCache.form, "a")).integer == 0)
        for purpose in ["credential", FleetCache.form, "slots:api"] {
            #expect(try await other.command("EXISTS", other.key(purpose, "a")).integer == 1)
        }
    }
}
