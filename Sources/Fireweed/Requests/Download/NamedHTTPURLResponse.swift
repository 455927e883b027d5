// A response that suggests the name of its file.

import Foundation
import FoundationNetworking

/// Foundation's response with Apple's `suggestedFilename`.
///
/// Foundation's own response takes the name from `Content-Disposition` only; without that field it suggests "Unknown".
final class NamedHTTPURLResponse: HTTPURLResponse, @unchecked Sendable {
    // SAFETY: it adds no stored property.

    override var suggestedFilename: String? { SuggestedFileName.suggestion(for: self) }

    /// Archives name Foundation's class, so that programs without this library can read them.
    override var classForCoder: AnyClass { HTTPURLResponse.self }
}
