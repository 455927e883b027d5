// Content from standard input.

import Foundation
import Glibc

/// What is piped or redirected into the command.
enum StandardInput {
    /// The content of standard input when it is a file or a pipe and nothing else gives content; `nil` when it is empty.
    static func content(for invocation: Invocation) -> Data? {
        guard invocation.rawBody == nil, invocation.uploadFile == nil, invocation.curlCommand == nil,
            !invocation.items.contains(where: \.isData),
            isFileOrPipe
        else { return nil }
        // A pipe that stays open and silent is no content, unless the method says that there must be some.
        let expectsContent = invocation.method.map { !["GET", "HEAD"].contains($0) } ?? false
        guard expectsContent || hasSomething else { return nil }
        let data = contentToEnd
        return data.isEmpty ? nil : data
    }

    /// Read with read(2): Foundation's own way ends the process when a signal comes meanwhile.
    private static var contentToEnd: Data {
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = read(STDIN_FILENO, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return data }
            data.append(contentsOf: buffer.prefix(count))
        }
    }

    /// True when there is something to read, or the end of it, within a moment.
    private static var hasSomething: Bool {
        var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        return poll(&input, 1, 100) > 0
    }

    private static var isFileOrPipe: Bool {
        var status = stat()
        guard fstat(STDIN_FILENO, &status) == 0 else { return false }
        let kind = status.st_mode & S_IFMT
        return kind == S_IFREG || kind == S_IFIFO
    }
}
