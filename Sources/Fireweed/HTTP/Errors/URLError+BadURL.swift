// Errors of URLs that cannot be requested.

import Foundation
import FoundationNetworking

extension URLError {
    /// The error of a request whose URL cannot be used, with the reason as its description.
    static func badURL(_ reason: String) -> URLError {
        URLError(.badURL, userInfo: [NSLocalizedDescriptionKey: reason])
    }
}
