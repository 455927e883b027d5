// Reading what a program prints.

public import Foundation
import Glibc

extension FileHandle {
    /// Waits for the next bytes and returns them, read with read(2); empty at the end of the file.
    ///
    /// Foundation's `availableData` crashes when a signal interrupts it, such as the signal for the end of another
    /// child.
    public func nextContent() -> Data {
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = Glibc.read(fileDescriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            return Data(buffer.prefix(max(0, count)))
        }
    }

    /// Returns all bytes up to the end of the file.
    public func contentToEnd() -> Data {
        var data = Data()
        while case let more = nextContent(), !more.isEmpty { data += more }
        return data
    }
}
