// What the stubs of these tests answer with, and where the requests go.

import Foundation

struct User: Codable, Sendable, Equatable {
    var id: Int
    var name: String
}

let api = "https://api.example.com"

/// Minutes that a test may take on a busy machine.
let testTimeoutMinutes = 10
