// Validation of stream requests.

import Foundation
import FoundationNetworking

extension DataStreamRequest {
    /// Checks the head of the response with a closure: before the content if the request has a sequence, otherwise
    /// after it.
    ///
    /// The closure is called on the serialisation queue. If the head came before the first sequence was made, the
    /// thread that makes the sequence calls it. It is not called after a failure.
    @discardableResult
    @preconcurrency
    public func validate(_ validation: @escaping Validation) -> Self {
        addValidator { (_: DataStreamRequest, sent, response) in validation(sent, response) }
    }

    /// Accepts only these status codes.
    @discardableResult
    @preconcurrency
    public func validate<S: Sequence & Sendable>(statusCode acceptableStatusCodes: S) -> Self where S.Element == Int {
        addValidator(statusCode: acceptableStatusCodes)
    }

    /// Accepts only these content types; `*` stands for any type or subtype.
    @discardableResult
    @preconcurrency
    public func validate<S: Sequence>(
        contentType acceptableContentTypes: @escaping @Sendable @autoclosure () -> S
    ) -> Self where S.Element == String {
        addValidator(contentType: acceptableContentTypes)
    }

    /// Accepts only status 200 to 299, and the content types of the request's `Accept` field.
    @discardableResult
    public func validate() -> Self {
        addDefaultValidators()
    }
}
