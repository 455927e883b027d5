// The decision on a challenge.

import Foundation
import FoundationNetworking

/// A delegate's decision about a challenge.
struct ChallengeAnswer: @unchecked Sendable {
    // SAFETY: a credential has no settable members.
    static let byDefault = ChallengeAnswer(disposition: .performDefaultHandling, credential: nil)

    let disposition: URLSession.AuthChallengeDisposition
    let credential: URLCredential?
}
