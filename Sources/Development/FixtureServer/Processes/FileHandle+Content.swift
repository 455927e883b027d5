// Reading what a program prints.

public import Foundation
import Glibc

extension FileHandle {
    /// The next bytes, as soon as there are some, read with read(2); empty at the end.
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

    /// Everything up to the end.
    public func contentToEnd() -> Data {
        var data = Data()
        while case let more = nextContent(), !more.isEmpty { data += more }
        return data
    }
}
