// What decides for a session's tasks, and hears of them.

public import Foundation
import FoundationNetworking

/// What a session needs besides its configuration.
open class SessionDelegate: @unchecked Sendable {
    // SAFETY: `FileManager.default` may be used from any thread; another one is the caller's to keep so.
    let fileManager: FileManager

    /// Makes a delegate; downloads are moved with the file manager.
    public init(fileManager: FileManager = .default) {
        self.fileManager = fileManager
    }
}
