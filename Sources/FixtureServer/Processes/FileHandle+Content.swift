// Reading what a program prints.

public import Foundation
import Glibc

extension FileHandle {
    /// Everything up to the end, read with read(2).
    ///
    /// Foundation's `readDataToEndOfFile()` ends the process when a signal comes meanwhile, as the end of another child does.
    public func contentToEnd() -> Data {
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = Glibc.read(fileDescriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return data }
            data.append(contentsOf: buffer.prefix(count))
        }
    }
}
