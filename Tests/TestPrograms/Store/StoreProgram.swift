// Uses a store from a process of its own: for tests that several processes do so at once, and that one may be killed
// while it writes.

import CSQLite
import Fireweed
import Foundation

/// One program of a process that uses a store.
///
/// - `store write FILE` stores until it is killed, and prints "ready" now and then.
/// - `store mix FILE COUNT` stores and reads COUNT times; fails when it reads anything torn.
/// - `store check FILE` reads everything, and prints how many responses there are; fails at anything torn.
/// - `store lock FILE` prints "ready" when it has the write lock, and keeps the lock until it is killed.
struct StoreProgram {
    private let command: String
    private let path: String
    private let count: Int
    private let store: SQLiteResponseStore

    init(_ arguments: [String]) throws {
        guard arguments.count > 1 else { exit(64) }
        command = arguments[0]
        path = arguments[1]
        count = arguments.count > 2 ? Int(arguments[2]) ?? 0 : 0
        store = try SQLiteResponseStore(url: URL(fileURLWithPath: path), maximumByteCount: 4 << 20)
    }

    func run() throws {
        switch command {
        case "lock": lock()
        case "write": try write()
        case "mix": try mix()
        case "check": try check()
        default: exit(64)
        }
    }

    private func lock() {
        var connection: OpaquePointer?
        sqlite3_open(path, &connection)
        guard sqlite3_exec(connection, "BEGIN IMMEDIATE", nil, nil, nil) == SQLITE_OK else { exit(2) }
        sayReady()
        while true { pause() }
    }

    private func write() throws {
        var number = Int.random(in: 0..<1000)
        while true {
            try store.store(NumberedResponse.make(number), for: NumberedResponse.key(number))
            if number % 10 == 0 { sayReady() }
            number += 1
        }
    }

    private func mix() throws {
        for _ in 0..<count {
            let number = Int.random(in: 0..<100_000)
            try store.store(NumberedResponse.make(number), for: NumberedResponse.key(number))
            let read = try store.response(for: NumberedResponse.key(.random(in: 0..<40))) { $0.isEmpty ? nil : 0 }
            if let read, !NumberedResponse.isWhole(read) { exit(1) }
        }
    }

    private func check() throws {
        var count = 0
        for number in 0..<40 {
            let read = try store.response(for: NumberedResponse.key(number)) { $0.isEmpty ? nil : 0 }
            guard let read else { continue }
            guard NumberedResponse.isWhole(read) else { exit(1) }
            count += 1
        }
        print(count)
    }

    private func sayReady() {
        FileHandle.standardOutput.write(Data("ready\n".utf8))
    }
}
