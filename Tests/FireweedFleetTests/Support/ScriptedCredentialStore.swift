// A store whose calls a test delays and fails.

import FixtureServer
import Foundation

@testable import Fireweed

/// Keeps credentials in memory; a script decides what becomes of each call.
final class ScriptedCredentialStore: CredentialStore {
    enum Call: Sendable, Equatable {
        /// A look, with or without an owner.
        case look(isOwned: Bool)
        case replace
        case release
    }

    enum Outcome: Sendable {
        case performed
        /// The call is not performed.
        case lost
        /// The call is performed, and its answer is lost.
        case unanswered
        /// The call is performed, and its answer comes when something else has happened.
        case answered(after: @Sendable () async throws -> Void)
    }

    struct Lost: Error {}

    let calls = EventLog<Call>()
    let memory: MemoryCredentialStore
    private let script: @Sendable (_ call: Call, _ number: Int) async throws -> Outcome

    /// Makes a store; the script gets each call with its number among all calls, from 1.
    init(
        over memory: MemoryCredentialStore = MemoryCredentialStore(),
        _ script: @escaping @Sendable (_ call: Call, _ number: Int) async throws -> Outcome
    ) {
        self.memory = memory
        self.script = script
    }

    var pollInterval: Duration { .milliseconds(1) }

    private let count = Counter()

    private func play<Value>(_ call: Call, _ body: () async throws -> Value) async throws -> Value {
        let number = count.increment()
        let outcome = try await script(call, number)
        if case .lost = outcome {
            calls.note(call)
            throw Lost()
        }
        let value = try await body()
        if case .answered(let wait) = outcome { try await wait() }
        calls.note(call)
        if case .unanswered = outcome { throw Lost() }
        return value
    }

    func look(_ name: String, owner: String?, lease: Duration) async throws -> CredentialLook {
        try await play(.look(isOwned: owner != nil)) { try await memory.look(name, owner: owner, lease: lease) }
    }

    func renew(_ name: String, owner: String, lease: Duration) async throws -> Bool {
        try await memory.renew(name, owner: owner, lease: lease)
    }

    func replace(
        _ name: String, expecting version: Int, with entry: StoredCredential, owner: String
    ) async throws -> Bool {
        try await play(.replace) { try await memory.replace(name, expecting: version, with: entry, owner: owner) }
    }

    func release(_ name: String, owner: String) async throws {
        try await play(.release) { try await memory.release(name, owner: owner) }
    }
}
