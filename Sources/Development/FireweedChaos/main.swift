// Random attacks on the public API, whose outcomes are all judged: `make chaos`, CONTRIBUTING.md.
//
// A seed makes a plan (Plan/), which is run (Execution/) against servers in a process of their own (Servers/), and
// judged (Judgement/). The exit code is 0 when nothing was wrong, 1 for a fault, and 2 when a round stalled.

import CAllocationCount
import Foundation

let options = CommandLine.arguments.dropFirst()
if options.first == "--servers" { try await ServerProcess.serve() }
guard let arguments = Arguments(Array(options)) else {
    StandardOutput.write(Arguments.usage)
    exit(64)
}
if arguments.printsPlan {
    StandardOutput.write("\(arguments.plan(of: arguments.round ?? 0))")
    exit(0)
}
fw_count_allocations()
exit(try await ChaosRunner(arguments: arguments).run())
