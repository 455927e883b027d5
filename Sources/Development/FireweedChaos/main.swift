// Random use of the public API, with a check of every outcome: `make chaos`, CONTRIBUTING.md.
//
// A seed determines a plan (Plan/), which runs (Execution/) against servers in a separate process (Servers/) and is
// judged (Judgement/). The exit code is 0 when nothing was wrong, 1 for a fault, 2 when a round stalled, and 64 for
// wrong arguments.

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
