// A program for tests that need a process for themselves.

import Fireweed
import Foundation

let urls = CommandLine.arguments.dropFirst()

// `ExitProbe --starved URL`: before there is a session.
if urls.first == "--starved", let url = urls.dropFirst().first {
    await Starvation(url: url).run()
    exit(0)
}

let session = Session()

// `ExitProbe --growth URL`: 10,000 requests at 64 in flight; prints what the process has after the first 1,000, and at
// the end.
if urls.first == "--growth", let url = urls.dropFirst().first {
    try await Growth(session: session, url: url).run()
    exit(0)
}

// `ExitProbe --drops URL`: 120 sessions that are dropped in mid-download; prints what the process has before them, and
// after them.
if urls.first == "--drops", let url = urls.dropFirst().first {
    try await Drops(url: url).run()
    exit(0)
}

// `ExitProbe --repeat JOB SERVER [AUTHORITY]`: does something 10 times, and 100 times more; prints the bytes on the
// heap after both.
if urls.first == "--repeat", urls.count > 2 {
    let values = Array(urls.dropFirst())
    guard let job = Repetitions.Job(rawValue: values[0]) else { exit(64) }
    try await Repetitions(job, server: values[1], authority: values.dropFirst(2).first).run()
    exit(0)
}

// `ExitProbe --fork URL`: a request, then a fork; prints what a request of the parent's session ends with in the child,
// and whether the parent's continues.
if urls.first == "--fork", let url = urls.dropFirst().first {
    try await Forking(session: session, url: url).run()
    exit(0)
}

// `ExitProbe --hostile`: the plan is on standard input.
if urls.first == "--hostile" {
    let plan = try JSONDecoder().decode(Hostility.Plan.self, from: FileHandle.standardInput.readDataToEndOfFile())
    try await Hostility(plan: plan).run()
    exit(0)
}

// `ExitProbe URL…`: asks for every URL, waits until content flows, and leaves by `exit`.
for url in urls {
    session.streamRequest(url).responseStream(on: .global()) { stream in
        if case .stream = stream.event { exit(0) }
    }
}
// What keeps the process until `exit` above, and the backstop when no content comes.
try await Task.sleep(for: .seconds(120))
exit(1)
