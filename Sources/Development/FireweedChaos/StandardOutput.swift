// The output of the program.

import Foundation

/// Writes lines to standard output without buffering, so that a fault is shown even if the process is killed.
enum StandardOutput {
    static func write(_ text: String) {
        FileHandle.standardOutput.write(Data((text + "\n").utf8))
    }
}
