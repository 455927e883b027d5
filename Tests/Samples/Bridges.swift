// Declarations for the samples of bridges, which `make bridges` compiles.

import Foundation
import Logging
import OpenAPIRuntime
import ServiceContextModule
import ServiceLifecycle

/// A client as swift-openapi-generator writes one.
struct Client {
    init(serverURL: URL, transport: any ClientTransport) {}

    func listPets() async throws -> [String] { [] }
}

/// A server of another library.
struct Server: Service {
    func run() async throws {}
}

let server = Server()
let logger = Logger(label: "samples")
/// The context of a caller.
let context = ServiceContext.topLevel
