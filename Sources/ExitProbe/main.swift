// Ends the process in the middle of transfers, as a program may: for a test that nothing crashes by that.

import Fireweed
import Foundation

/// `ExitProbe URL…`: asks for every URL, waits until content flows, and leaves by `exit`.
let session = Session()
let urls = CommandLine.arguments.dropFirst()
for url in urls {
    session.streamRequest(url).responseStream(on: .global()) { stream in
        if case .stream = stream.event { exit(0) }
    }
}
// Reached by nobody: a request that fails ends the process with an error below.
try await Task.sleep(for: .seconds(20))
exit(1)
