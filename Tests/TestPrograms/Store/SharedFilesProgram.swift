// Uses a store of responses, a vault and rate limits in files that other processes use too, until it is killed.

import Fireweed
import Foundation
import Glibc

/// A worker of `shared FOLDER NUMBER COUNT`, one of COUNT, which prints a line after each round.
///
/// The worker ends with a status when something is wrong: 1 for a torn response, 2 for a credential that was lost, 4
/// for an error other than a lock of another process, 5 for a response that was lost.
struct SharedFilesProgram {
    private let folder: URL
    private let number: Int
    private let count: Int

    /// The limit that all workers keep to.
    static let limit = RateLimit(500, per: .seconds(1))

    init(_ arguments: [String]) {
        guard arguments.count == 3, let number = Int(arguments[1]), let count = Int(arguments[2]) else { exit(64) }
        (folder, self.number, self.count) = (URL(fileURLWithPath: arguments[0]), number, count)
    }

    private var responses: URL { folder.appending(path: "responses.sqlite") }
    /// A store with room for everything that is ever kept in it, so that nothing is evicted.
    private var kept: URL { folder.appending(path: "kept.sqlite") }
    private var limits: URL { folder.appending(path: "limits.sqlite") }
    private func log(_ name: String) -> URL { folder.appending(path: "\(name).log") }

    func run() async {
        while true {
            do {
                try await round()
            } catch let error where Self.isBusy(error) {
            } catch {
                FileHandle.standardError.write(Data("\(error)\n".utf8))
                exit(4)
            }
            FileHandle.standardOutput.write(Data("round\n".utf8))
        }
    }

    /// Whether another process kept a lock for longer than is waited, which eight processes on few cores may.
    private static func isBusy(_ error: any Error) -> Bool {
        if case ResponseStoreError.busy = error { return true }
        return "\(error)".contains("database is locked")
    }

    /// Opens everything twice, as programs with two sessions do, and closes it at the end.
    private func round() async throws {
        let stores = try (0..<2).map { _ in try SQLiteResponseStore(url: responses, maximumByteCount: 4 << 20) }
        let keepers = try (0..<2).map { _ in try SQLiteResponseStore(url: kept, maximumByteCount: 64 << 20) }
        let limiters = try (0..<2).map { _ in try SQLiteRateLimits(file: limits, name: "shared", fallback: .open) }
        for turn in 0..<10 {
            try await Self.naming("responses") { try useResponses(stores[turn % 2]) }
            try await Self.naming("kept") { try keepResponse(keepers[turn % 2]) }
            try await Self.naming("limits") { try await takeSlot(limiters[turn % 2]) }
            try await Self.naming("vault") { try await useCredentials() }
        }
        withExtendedLifetime((stores, keepers, limiters)) {}
    }

    /// Prints the name of the file that an error is about.
    private static func naming(_ name: String, _ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch {
            if !isBusy(error) { FileHandle.standardError.write(Data("\(name): ".utf8)) }
            throw error
        }
    }

    private func useResponses(_ store: SQLiteResponseStore) throws {
        let number = Int.random(in: 0..<100_000)
        try store.store(NumberedResponse.make(number), for: NumberedResponse.key(number))
        let read = try store.response(for: NumberedResponse.key(.random(in: 0..<40))) { $0.isEmpty ? nil : 0 }
        if let read, !NumberedResponse.isWhole(read) { exit(1) }
    }

    /// How many responses each worker keeps.
    static let keptCount = 10

    /// Replaces one of this worker's responses in the store that evicts nothing, and reads one of another worker: it is
    /// there, and not older than was written down before it was read.
    private func keepResponse(_ store: SQLiteResponseStore) throws {
        let slot = Int.random(in: 0..<Self.keptCount)
        try check(store, worker: .random(in: 0..<count), slot)
        let next = try check(store, worker: number, slot) + 1
        try store.store(NumberedResponse.make(next), for: NumberedResponse.key(worker: number, slot))
        append("\(next)", to: log("response\(number)-\(slot)"))
    }

    /// The number of a kept response; 0 where none was stored.
    @discardableResult
    private func check(_ store: SQLiteResponseStore, worker: Int, _ slot: Int) throws -> Int {
        let least = lastNumber(in: log("response\(worker)-\(slot)"))
        let key = NumberedResponse.key(worker: worker, slot)
        guard let read = try store.response(for: key, choosing: { $0.isEmpty ? nil : 0 }) else {
            if least > 0 { exit(5) }
            return 0
        }
        guard NumberedResponse.isWhole(read) else { exit(1) }
        let found = NumberedResponse.number(read) ?? 0
        if found < least { exit(5) }
        return found
    }

    private func takeSlot(_ limits: SQLiteRateLimits) async throws {
        let taken = try await limits.reserveMoments("k", limit: Self.limit, count: 1, maximumWait: nil)
        append("\(taken[0].moment)", to: log("slots"))
    }

    /// Replaces the credential of this worker, and reads that of another one: neither is older than was written down
    /// before it was read.
    private func useCredentials() async throws {
        let other = Int.random(in: 0..<count)
        let least = lastNumber(in: log("credential\(other)"))
        let read = try await vault(of: other).credential()?.number ?? 0
        if read < least { exit(2) }
        let next = try await (vault(of: number).credential()?.number ?? 0) + 1
        if next <= lastNumber(in: log("credential\(number)")) { exit(2) }
        try await vault(of: number).set(ProbeToken(number: next))
        append("\(next)", to: log("credential\(number)"))
    }

    private func vault(of worker: Int) throws -> CredentialVault<ProbeToken> {
        try CredentialVault(
            file: folder.appending(path: "vault.sqlite"), name: "worker \(worker)", key: Data(repeating: 7, count: 32))
    }

    // MARK: Logs

    private func append(_ line: String, to file: URL) {
        let descriptor = open(file.path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        let bytes = Array("\(line)\n".utf8)
        guard descriptor >= 0, write(descriptor, bytes, bytes.count) == bytes.count else { exit(4) }
        close(descriptor)
    }

    private func lastNumber(in file: URL) -> Int {
        let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").last.flatMap { Int($0) } ?? 0
    }
}
