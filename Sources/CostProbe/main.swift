// Makes requests one after the other, for tests that count what one of them costs.
//
// `CostProbe URL COUNT` prints how many allocations the requests after the first hundred took. With `stub` as the URL a
// stub answers them.

import CAllocationCount
import FireweedTesting
import Foundation

guard CommandLine.arguments.count == 3, let count = Int(CommandLine.arguments[2]) else { exit(64) }
let isStubbed = CommandLine.arguments[1] == "stub"
let url = isStubbed ? "https://api.example.com/users/42" : CommandLine.arguments[1]
let session =
    isStubbed
    ? Session.stubbed { Stub.get("/users/{id}").reply(.json(["id": 42, "name": "Ada"])) } : Session()

func requests(_ count: Int) async throws {
    for _ in 0..<count { _ = try await session.request(url).validate().serializingData().value }
}

try await requests(100)
let before = fw_allocation_count()
try await requests(count)
print(fw_allocation_count() - before)
exit(0)
