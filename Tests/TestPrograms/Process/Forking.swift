// A child of a process that has used its session.

import Fireweed
import Foundation
import Glibc

/// Forks after a request; parent and child make another one with the same session, and say what came of it.
struct Forking {
    let session: Session
    let url: String

    func run() async throws {
        _ = try await session.request(url).serializingData().value
        let child = Self.fork()
        if child == 0 { Self.exitChild(session, url) }
        var status: Int32 = 0
        waitpid(child, &status, 0)
        _ = try await session.request(url).serializingData().value
        print("parent goes on, child ended with \(status)")
    }

    /// Asks in the child, where no thread but this one is left: what a handler needs is done on the thread of the
    /// request.
    private static func exitChild(_ session: Session, _ url: String) -> Never {
        let request = session.request(url)
        // The request ends before this returns, whatever Dispatch still does in such a process.
        request.resume()
        let text = request.error.map { "child: \($0.localizedDescription)\n" } ?? "child: no error yet\n"
        _ = text.withCString { write(STDOUT_FILENO, $0, strlen($0)) }
        _exit(0)
    }

    /// fork(2), which the overlay of Glibc keeps from Swift.
    private static func fork() -> pid_t {
        typealias Function = @convention(c) () -> pid_t
        guard let symbol = dlsym(nil, "fork") else { return -1 }
        return unsafeBitCast(symbol, to: Function.self)()
    }
}
