// Failures of a response store in words.

#if SQLite
public import Foundation

extension ResponseStoreError: LocalizedError {
    /// One sentence about what failed.
    public var errorDescription: String? {
        switch self {
        case .cannotOpen(let path, let reason): "The store \(path) cannot be opened: \(reason)."
        case .busy: "Another process keeps the store locked."
        case .damaged(let path): "The store \(path) is damaged, or is no store, and could not be replaced."
        case .failed(let code, let reason): "The store cannot be used: \(reason) (SQLite's code \(code))."
        }
    }
}
#endif
