// Uses a store from a process of its own: for tests that several do so at once, and that one may be killed while it
// writes.

import CSQLite
import Fireweed
import Foundation

/// Numbered responses whose content can be checked.
enum Numbered {
    static func key(_ number: Int) -> String { "http://probe.example/\(number % 40)" }

    static func size(_ number: Int) -> Int { 500 + number * 7919 % 90_000 }

    static func response(_ number: Int) -> StoredResponse {
        let head = ResponseHead(status: 200, fields: [Field(name: "X-Number", value: "\(number)")])
        let variant = ResponseVariant(names: [], selection: Data(), credentials: nil)
        return StoredResponse(
            head: StoredHead(response: head, requestTime: Date(), responseTime: Date(), variant: variant),
            content: Data(repeating: UInt8(truncatingIfNeeded: number), count: size(number)))
    }

    /// True when head and content belong together, and nothing is missing.
    static func isWhole(_ stored: StoredResponse) -> Bool {
        guard let number = stored.head.response.value(of: "X-Number").flatMap(Int.init) else { return false }
        return stored.content == Data(repeating: UInt8(truncatingIfNeeded: number), count: size(number))
    }
}

// `StoreProbe write FILE` stores until it is killed, and says "ready" now and then; `StoreProbe mix FILE COUNT` stores
// and reads so often, and `StoreProbe check FILE` reads everything and prints how many responses there are; both fail
// at anything torn. `StoreProbe lock FILE` says "ready" when it has the write lock, and keeps the lock until it is
// killed.
let arguments = CommandLine.arguments
let store = try SQLiteResponseStore(url: URL(fileURLWithPath: arguments[2]), maximumByteCount: 4 << 20)
switch arguments[1] {
case "lock":
    var connection: OpaquePointer?
    sqlite3_open(arguments[2], &connection)
    guard sqlite3_exec(connection, "BEGIN IMMEDIATE", nil, nil, nil) == SQLITE_OK else { exit(2) }
    FileHandle.standardOutput.write(Data("ready\n".utf8))
    while true { pause() }
case "write":
    var number = Int.random(in: 0..<1000)
    while true {
        try store.store(Numbered.response(number), for: Numbered.key(number))
        if number % 10 == 0 { FileHandle.standardOutput.write(Data("ready\n".utf8)) }
        number += 1
    }
case "mix":
    for _ in 0..<(Int(arguments[3]) ?? 0) {
        let number = Int.random(in: 0..<100_000)
        try store.store(Numbered.response(number), for: Numbered.key(number))
        let read = try store.response(for: Numbered.key(.random(in: 0..<40))) { $0.isEmpty ? nil : 0 }
        if let read, !Numbered.isWhole(read) { exit(1) }
    }
default:
    var count = 0
    for number in 0..<40 {
        guard let read = try store.response(for: Numbered.key(number), choosing: { $0.isEmpty ? nil : 0 }) else {
            continue
        }
        guard Numbered.isWhole(read) else { exit(1) }
        count += 1
    }
    print(count)
}
