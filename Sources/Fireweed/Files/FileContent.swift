// The content of a file.

import Foundation

/// Reads files whole.
enum FileContent {
    /// Reads a file; throws `CocoaError` or `POSIXError` when that fails.
    ///
    /// `Data(contentsOf:)` of swift-foundation 6.3 leaks 4 KiB for each empty file that it reads.
    static func read(_ url: URL) throws -> Data {
        let file = try FileHandle(forReadingFrom: url)
        defer { try? file.close() }
        return try file.readToEnd() ?? Data()
    }
}
