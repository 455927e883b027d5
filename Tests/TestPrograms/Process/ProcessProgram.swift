// Memory, descriptors and the end of a process.

import Fireweed
import Foundation

/// One program of the table in `run()`.
struct ProcessProgram {
    private let arguments: [String]

    init(_ arguments: [String]) {
        self.arguments = arguments
    }

    func run() async throws {
        switch (arguments.first, arguments.dropFirst().first) {
        // `process exit URL…` requests every URL, waits until content flows, and leaves by `exit`.
        case ("exit", _?): try await exitInMidTransfer(urls: arguments.dropFirst())
        // `process first TYPE FOLDER AUTHORITY URL` uses OpenSSL through a type before there is a session, requests the
        // URL, and leaves by `exit` when content flows.
        case ("first", let name?):
            guard let type = FirstUse(rawValue: name), arguments.count == 5 else { exit(64) }
            try await type.run(folder: arguments[2], authority: arguments[3], url: arguments[4])
        // `process starved URL` makes its first request without a descriptor left.
        case ("starved", let url?): await Starvation(url: url).run()
        // `process crowded URL` has many sessions with idle connections; prints how requests, downloads and uploads end
        // when no further descriptor is left.
        case ("crowded", let url?): try await Crowd(url: url).run()
        // `process uploads URL` uploads more files at once than it may have open.
        case ("uploads", let url?): try await ManyUploads(url: url).run()
        // `process lost FOLDER URL` uploads files that do not answer.
        case ("lost", let folder?):
            guard arguments.count == 3 else { exit(64) }
            try await LostThreads(folder: URL(fileURLWithPath: folder), url: arguments[2]).run()
        // `process growth URL` makes 10,000 requests, 64 at once; prints what the process has after the first 1,000,
        // and at the end.
        case ("growth", let url?): try await Growth(session: Session(), url: url).run()
        // `process drops URL` makes 120 sessions that are dropped in mid-download; prints what the process has before
        // them, and after them.
        case ("drops", let url?): try await Drops(url: url).run()
        // `process repeat JOB SERVER [AUTHORITY]` does something 10 times, and 100 times more; prints the bytes on the
        // heap after both.
        case ("repeat", let name?):
            guard let job = Repetitions.Job(rawValue: name), arguments.count > 2 else { exit(64) }
            try await Repetitions(job, server: arguments[2], authority: arguments.dropFirst(3).first).run()
        // `process fork URL` makes a request, then forks; prints how a request of the parent's session ends in the
        // child, and whether the parent's continues.
        case ("fork", let url?): try await Forking(session: Session(), url: url).run()
        // `process hostile` reads its plan from standard input.
        case ("hostile", nil):
            let input = FileHandle.standardInput.readDataToEndOfFile()
            try await Hostility(plan: try JSONDecoder().decode(Hostility.Plan.self, from: input)).run()
        // `process whole-way` reads its plan from standard input.
        case ("whole-way", nil):
            let input = FileHandle.standardInput.readDataToEndOfFile()
            try await WholeWay(plan: try JSONDecoder().decode(WholeWay.Plan.self, from: input)).run()
        default: exit(64)
        }
    }

    private func exitInMidTransfer(urls: ArraySlice<String>) async throws {
        let session = Session()
        for url in urls {
            session.streamRequest(url).responseStream(on: .global()) { stream in
                if case .stream = stream.event { exit(0) }
            }
        }
        // What keeps the process until `exit` above, and the backstop when no content comes.
        try await Task.sleep(for: .seconds(120))
        exit(1)
    }
}
