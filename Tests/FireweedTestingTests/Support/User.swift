// The value and the URL that these tests' stubs use.

import Foundation

struct User: Codable, Sendable, Equatable {
    var id: Int
    var name: String
}

let api = "https://api.example.com"

/// Minutes that a test may take on a busy machine.
let testTimeoutMinutes = 10
