// fireweed: HTTP from the terminal.

import Foundation
import Glibc

// A stream that is closed must not get the number of a socket or file that is opened later: what is said on standard
// error would be written there. Standard output stays unwritable, so that the exit code tells.
for (stream, mode) in [(STDIN_FILENO, O_RDONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_WRONLY)]
where fcntl(stream, F_GETFD) < 0 {
    _ = open("/dev/null", mode)
}
// A closed pipe is an error of a write, not the end of the process.
signal(SIGPIPE, SIG_IGN)
Interruption.prepare()

// The main thread waits for signals, and nothing uses the main queue. An asynchronous main program would end this
// thread instead, by a library that is loaded for that alone: a tenth of a short run.
Task.detached {
    let code = await Program.run()
    Interruption.end(with: code)
}
Interruption.wait()
