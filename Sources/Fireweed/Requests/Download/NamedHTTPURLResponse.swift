// A response that knows the name of its file.

import Foundation
import FoundationNetworking

/// Foundation's response with Apple's `suggestedFilename`.
///
/// Foundation's own takes the name from `Content-Disposition` alone: it is "Unknown" for every other response.
final class NamedHTTPURLResponse: HTTPURLResponse, @unchecked Sendable {
    // SAFETY: it adds no stored property.

    override var suggestedFilename: String? { SuggestedFileName.suggestion(for: self) }

    /// Archives have no type of ours: any program can read them.
    override var classForCoder: AnyClass { HTTPURLResponse.self }
}
