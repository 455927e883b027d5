// fireweed: HTTP from the terminal.

import Foundation
import Glibc

// A socket or file that is opened later must not get the number of a closed standard stream: messages for standard
// error would be written to it. Standard output stays unwritable, so that writing fails and the exit code shows the
// failure.
for (stream, mode) in [(STDIN_FILENO, O_RDONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_WRONLY)]
where fcntl(stream, F_GETFD) < 0 {
    _ = open("/dev/null", mode)
}
// Without SIGPIPE, writing to a closed pipe is an error and does not end the process.
signal(SIGPIPE, SIG_IGN)
Interruption.prepare()

// The main thread waits for signals, and nothing uses the main queue. An asynchronous main program would end this
// thread instead; for that it loads a library, which takes a tenth of a short run.
Task.detached {
    let code = await Program.run()
    Interruption.end(with: code)
}
Interruption.wait()
