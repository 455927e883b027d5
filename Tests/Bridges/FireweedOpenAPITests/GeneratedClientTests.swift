// A client in the shape that swift-openapi-generator writes.

import Fireweed
import FireweedOpenAPI
import FireweedTesting
import FixtureServer
import Foundation
import HTTPTypes
@_spi(Generated) import OpenAPIRuntime
import Testing

/// The client of a service with pets, as the generator would write it.
private struct Client: Sendable {
    struct Pet: Codable, Hashable, Sendable {
        var id: Int
        var name: String
    }

    enum ListOutput: Sendable {
        case ok([Pet])
        case undocumented(statusCode: Int)
    }

    private let client: UniversalClient
    private var converter: Converter { client.converter }

    init(serverURL: URL, transport: any ClientTransport) {
        client = UniversalClient(serverURL: serverURL, transport: transport)
    }

    func listPets(limit: Int) async throws -> ListOutput {
        try await client.send(input: limit, forOperation: "listPets") { limit in
            var request = HTTPRequest(
                method: .get, scheme: nil, authority: nil,
                path: try converter.renderedPath(template: "/pets", parameters: []))
            try converter.setQueryItemAsURI(in: &request, style: .form, explode: true, name: "limit", value: limit)
            request.headerFields[.accept] = "application/json"
            return (request, nil)
        } deserializer: { response, body in
            guard response.status.code == 200 else { return .undocumented(statusCode: response.status.code) }
            return .ok(try await converter.getResponseBodyAsJSON([Pet].self, from: body, transforming: { $0 }))
        }
    }

    func createPet(_ pet: Pet) async throws -> Int {
        try await client.send(input: pet, forOperation: "createPet") { pet in
            var request = HTTPRequest(method: .post, scheme: nil, authority: nil, path: "/pets")
            let body = try converter.setRequiredRequestBodyAsJSON(
                pet, headerFields: &request.headerFields, contentType: "application/json; charset=utf-8")
            return (request, body)
        } deserializer: { response, _ in
            response.status.code
        }
    }

    func photo(of id: Int, upload: HTTPBody) async throws -> HTTPBody {
        try await client.send(input: id, forOperation: "putPhoto") { id in
            var request = HTTPRequest(
                method: .put, scheme: nil, authority: nil,
                path: try converter.renderedPath(template: "/pets/{}/photo", parameters: [id]))
            let body = try converter.setRequiredRequestBodyAsBinary(
                upload, headerFields: &request.headerFields, contentType: "application/octet-stream")
            return (request, body)
        } deserializer: { _, body in
            try converter.getResponseBodyAsBinary(HTTPBody.self, from: body, transforming: { $0 })
        }
    }
}

@Suite("A whole generated client", .timeLimit(.minutes(TestTimeouts.minutes)))
struct GeneratedClientTests {
    private func client(_ server: MockServer) throws -> Client {
        Client(
            serverURL: try #require(URL(string: "http://127.0.0.1:\(server.port)/api")),
            transport: SessionTransport())
    }

    @Test("operations send and read JSON and bytes")
    func operations() async throws {
        let server = try MockServer.start {
            Stub.get("/api/pets").reply(.json([["id": 1, "name": "Ada"]]))
            Stub.post("/api/pets").reply(.status(201))
            Stub.put("/api/pets/{id}/photo").reply { .data($0.body, contentType: "application/octet-stream") }
        }
        let client = try client(server)
        guard case .ok(let pets) = try await client.listPets(limit: 5) else {
            Issue.record("the pets did not come")
            return
        }
        #expect(pets == [Client.Pet(id: 1, name: "Ada")])
        let listing = try await server.takeRequest(within: TestTimeouts.limit)
        #expect(listing.query("limit") == "5")
        #expect(listing.header("Accept") == "application/json")
        #expect(try await client.createPet(Client.Pet(id: 2, name: "Zoë")) == 201)
        let created = try await server.takeRequest(within: TestTimeouts.limit)
        #expect(try created.decoded(as: Client.Pet.self) == Client.Pet(id: 2, name: "Zoë"))
        let bytes = [UInt8](0...255)
        let photo = try await client.photo(of: 2, upload: HTTPBody(bytes))
        #expect(try await [UInt8](collecting: photo, upTo: 1_000) == bytes)
    }

    @Test("a status outside the description is no error")
    func undocumented() async throws {
        let server = try MockServer.start { Stub.any().reply(.text("gone", status: 503)) }
        guard case .undocumented(503) = try await client(server).listPets(limit: 1) else {
            Issue.record("the status did not come")
            return
        }
    }

    @Test("an error names its operation, and has the request's error inside")
    func errors() async throws {
        let server = try ScriptedServer.start([.receiveHead, .close])
        let client = Client(serverURL: server.url(""), transport: SessionTransport())
        let error = await #expect(throws: ClientError.self) { try await client.listPets(limit: 1) }
        #expect(error?.operationID == "listPets")
        #expect(((error?.underlyingError as? AFError)?.underlyingError as? URLError)?.code == .networkConnectionLost)
    }

    @Test("many operations run at once")
    func concurrent() async throws {
        let server = try MockServer.start { Stub.get("/api/pets").reply(.json([["id": 1, "name": "Ada"]])) }
        let client = try client(server)
        let count = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<100 {
                group.addTask { if case .ok(let pets) = try await client.listPets(limit: 1) { pets.count } else { 0 } }
            }
            return try await group.reduce(0, +)
        }
        #expect(count == 100)
    }
}
