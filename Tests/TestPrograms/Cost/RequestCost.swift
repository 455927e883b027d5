// Makes requests one after the other, for tests that count what one of them costs.

import CAllocationCount
import FireweedTesting
import Foundation

/// `cost URL COUNT`: prints how many allocations the requests after the first hundred took.
///
/// With `stub` as the URL a stub answers them.
struct RequestCost {
    private let url: String
    private let count: Int
    private let session: Session

    init(_ arguments: [String]) {
        guard arguments.count == 2, let count = Int(arguments[1]) else { exit(64) }
        fw_count_allocations()
        let isStubbed = arguments[0] == "stub"
        self.count = count
        url = isStubbed ? "https://api.example.com/users/42" : arguments[0]
        session =
            isStubbed
            ? Session.stubbed { Stub.get("/users/{id}").reply(.json(["id": 42, "name": "Ada"])) } : Session()
    }

    func run() async throws {
        try await requests(100)
        let before = fw_allocation_count()
        try await requests(count)
        print(fw_allocation_count() - before)
    }

    private func requests(_ count: Int) async throws {
        for _ in 0..<count { _ = try await session.request(url).validate().serializingData().value }
    }
}
