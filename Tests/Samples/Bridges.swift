// Declarations for the samples of bridges, which `make bridges` compiles.

import Foundation
import OpenAPIRuntime

/// A client as swift-openapi-generator writes one.
struct Client {
    init(serverURL: URL, transport: any ClientTransport) {}

    func listPets() async throws -> [String] { [] }
}
