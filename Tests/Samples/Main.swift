// Runs the samples that Scripts/check-samples has made into functions, against the server of users below.

import FireweedTesting
import Foundation
import Preamble
import Synchronization

/// A sample that runs.
struct Row {
    /// Where it is: file and line.
    let place: String
    /// What its comments say that it prints.
    let prints: [String]
    let run: @Sendable () async throws -> Void
}

private func startUsers() -> MockServer {
    do {
        return try MockServer.start(port: UInt16(CommandLine.arguments[1]) ?? 0) {
            Stub.get("/users/{id}").reply { request in
                guard request.parameters["id"] != "0" else { return .json(["message": "no such user"], status: 404) }
                return .json(["id": .integer(Int64(request.parameters["id"] ?? "") ?? 0), "name": "Ada"])
                    .header("Cache-Control", "max-age=60").header("ETag", "\"1\"")
            }
            Stub.get("/users").reply(.json([["id": 1, "name": "Ada"], ["id": 2, "name": "Grace"]]))
            Stub.post("/users").reply(.json(["id": 3, "name": "Ada"], status: 201))
            Stub.delete("/users/{id}").reply(.status(204))
            Stub.get("/flaky").reply(.status(503), .status(503), .text("at last"))
            Stub.post("/photos").reply(.status(201))
            Stub.post("/token").reply(.json(["access_token": "new", "refresh_token": "r", "expires_in": 3600]))
            Stub.get("/me", .header(.authorization(bearerToken: "new"))).reply(.json(["id": 1, "name": "Ada"]))
            Stub.get("/me").reply(.status(401))
            Stub.post("/v1/chat").reply(
                .serverSentEvents(
                    ServerSentEvent(data: #"{"text":"Hello"}"#), ServerSentEvent(data: #"{"text":", world"}"#),
                    ServerSentEvent(data: "[DONE]")))
            Stub.get("/log").reply(.text("{\"id\":1,\"name\":\"Ada\"}\n{\"id\":2,\"name\":\"Grace\"}\n"))
            Stub.webSocket("/chat") { socket in
                for try await message in socket.messages { socket.send(message) }
            }
        }
    } catch {
        fail("The server of users does not start: \(error)")
    }
}

/// The number of the sample that runs.
private let running = Atomic(0)

/// Ends the program if a sample still runs after a minute.
private func watch(_ number: Int, at place: String) {
    DispatchQueue.global().asyncAfter(deadline: .now() + 60) {
        guard running.load(ordering: .relaxed) == number else { return }
        Swift.print("\(place): error: has not ended within a minute; printed \(printed.withLock { $0 })")
        exit(1)
    }
}

/// Whether a line is the expected one, in which `…` stands for anything.
private func matches(_ line: String, _ expected: String) -> Bool {
    let pieces = expected.components(separatedBy: "…")
    guard pieces.count > 1 else { return line == expected }
    var rest = line[...]
    guard rest.hasPrefix(pieces[0]) else { return false }
    rest = rest.dropFirst(pieces[0].count)
    for piece in pieces.dropFirst().dropLast() where !piece.isEmpty {
        guard let place = rest.range(of: piece) else { return false }
        rest = rest[place.upperBound...]
    }
    return rest.hasSuffix(pieces[pieces.count - 1])
}

/// The lines that the sample has printed.
private var printedLines: [String] {
    printed.withLock { $0 }.flatMap { $0.split(separator: "\n").map(String.init) }
}

/// The first of the expected lines that was not printed, in their order; `nil` when all were.
private func firstMissing(of expectedLines: [String]) -> String? {
    var rest = printedLines[...]
    for expected in expectedLines {
        guard let index = rest.firstIndex(where: { matches($0, expected) }) else { return expected }
        rest = rest[(index + 1)...]
    }
    return nil
}

@main
struct Main {
    static func main() async {
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try? Data("a report".utf8).write(to: fileURL)
        let users = startUsers()
        var failures = 0
        for (number, row) in rows.enumerated() {
            running.store(number, ordering: .relaxed)
            watch(number, at: row.place)
            printed.withLock { $0 = [] }
            do {
                try await row.run()
                // Handlers on queues may print a moment after the sample has ended.
                for _ in 0..<100 where firstMissing(of: row.prints) != nil {
                    try? await Task.sleep(for: .milliseconds(50))
                }
                if CommandLine.arguments.contains("--show") { Swift.print("\(row.place): \(printedLines)") }
                if let expected = firstMissing(of: row.prints) {
                    failures += 1
                    Swift.print(
                        "\(row.place): error: does not print \(expected.debugDescription), but \(printedLines)")
                }
            } catch {
                failures += 1
                Swift.print("\(row.place): error: \(error)")
            }
        }
        try? FileManager.default.removeItem(at: folder)
        running.store(-1, ordering: .relaxed)
        users.stop()
        exit(failures == 0 ? 0 : 1)
    }
}
