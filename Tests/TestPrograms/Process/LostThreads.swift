// A process whose files do not answer.

import Fireweed
import FireweedTransport
import Foundation
import FoundationNetworking
import Glibc

/// Uploads a pipe without a writer for each thread that may be lost, and then a file; prints how the file's upload
/// ends, and how a second one ends when the pipes answer again.
struct LostThreads {
    let folder: URL
    let url: String

    func run() async throws {
        let (pipe, file) = (folder.appending(path: "pipe"), folder.appending(path: "file"))
        guard mkfifo(pipe.path, 0o600) == 0 else { exit(1) }
        try Data("content".utf8).write(to: file)
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.httpMaximumConnectionsPerHost = 2 * ContentThreads.limit
        let session = Session(configuration: configuration)
        let lost = (0..<ContentThreads.limit).map { _ in session.upload(pipe, to: url).resume() }
        while threadCount < ContentThreads.limit { try await Task.sleep(for: .milliseconds(10)) }
        print(await outcome(of: session.upload(file, to: url)))
        for request in lost { request.cancel() }
        // Both ends are open: each thread that waits for a writer has one.
        let writer = open(pipe.path, O_RDWR)
        while threadCount == ContentThreads.limit { try await Task.sleep(for: .milliseconds(10)) }
        print(await outcome(of: session.upload(file, to: url)))
        close(writer)
    }

    private func outcome(of request: UploadRequest) async -> String {
        let response = await request.serializingData(emptyResponseCodes: [200]).response
        guard let error = response.error?.underlyingError as? URLError else {
            return "status \(response.response?.statusCode ?? 0)"
        }
        return "\(error.code.rawValue) \(error.localizedDescription)"
    }

    private var threadCount: Int {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return tasks.count { task in
            (try? String(contentsOfFile: "/proc/self/task/\(task)/comm", encoding: .utf8)) == "\(ContentThreads.name)\n"
        }
    }
}
