// The output of the program.

import Foundation

/// Lines on standard output, at once: a fault must be readable although the process is killed.
enum StandardOutput {
    static func write(_ text: String) {
        FileHandle.standardOutput.write(Data((text + "\n").utf8))
    }
}
