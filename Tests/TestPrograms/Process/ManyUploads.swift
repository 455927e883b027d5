// A process that uploads more files than it may have open.

import Fireweed
import Foundation
import Glibc

/// Uploads a file 1,000 times at once with 128 descriptors; prints how many uploads fail, and the first failure.
struct ManyUploads {
    let url: String

    func run() async throws {
        // Dispatch opens a descriptor when the main thread hands over to it, and traps without one.
        await MainActor.run {}
        let file = FileManager.default.temporaryDirectory.appending(path: "uploads-\(getpid())")
        try Data("content".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = 128
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let session = Session()
        let errors = await withTaskGroup(of: AFError?.self) { [url] group in
            for _ in 0..<1000 {
                group.addTask { await session.upload(file, to: url).serializingData().response.error }
            }
            return await group.reduce(into: [AFError]()) { errors, error in
                if let error { errors.append(error) }
            }
        }
        print("failures", errors.count, errors.first?.localizedDescription ?? "")
    }
}
