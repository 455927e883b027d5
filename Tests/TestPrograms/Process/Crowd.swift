// A process whose sessions keep more connections than it has descriptors for.

import Fireweed
import Foundation
import Glibc

/// Fills the process with idle connections, each in a session of its own.
struct Crowd {
    let url: String

    func run() async throws {
        // Dispatch opens a descriptor when the main thread hands over to it, and traps without one.
        await MainActor.run {}
        let file = FileManager.default.temporaryDirectory.appending(path: "crowd-\(getpid())")
        try Data(count: 10).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let whole = limit()
        // The way of each kind of request is gone once with descriptors.
        let first = Session()
        print("before", await outcomes(of: first, file))
        for kind in Kind.allCases {
            let (used, others) = (Session(), (0..<8).map { _ in Session() })
            for session in others + [used] { await get(session) }
            setLimit(lowestFree())
            // A new session needs a connection, the used one has its own and needs a file.
            let outcome = await perform(kind, kind == .request ? Session() : used, file)
            setLimit(whole)
            print(kind, outcome)
        }
        setLimit(64)
        var crowd: [Session] = []
        var failures = 0
        for _ in 0..<100 {
            let session = Session()
            crowd.append(session)
            if await get(session) != "ok" { failures += 1 }
        }
        print("sessions", crowd.count, "failures", failures)
    }

    enum Kind: CaseIterable { case request, download, upload }

    private func outcomes(of session: Session, _ file: URL) async -> String {
        var outcomes: [String] = []
        for kind in Kind.allCases { outcomes.append(await perform(kind, session, file)) }
        return outcomes.joined(separator: " ")
    }

    @discardableResult
    private func get(_ session: Session) async -> String { await perform(.request, session, nil) }

    private func perform(_ kind: Kind, _ session: Session, _ file: URL?) async -> String {
        let error: AFError? =
            switch kind {
            case .request: await session.request(url).serializingData().response.error
            case .download: await session.download(url).serializingData().response.error
            case .upload: await session.upload(file ?? URL(filePath: "/"), to: url).serializingData().response.error
            }
        return error.map { "\($0.localizedDescription)" } ?? "ok"
    }

    // MARK: Limits

    private func lowestFree() -> Int {
        let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
        close(descriptor)
        return Int(descriptor)
    }

    private func limit() -> Int {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return Int(limit.rlim_cur)
    }

    private func setLimit(_ count: Int) {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = rlim_t(count)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
