// Validation of data requests.

import Foundation
import FoundationNetworking

extension DataRequest {
    /// Checks the response with a closure before any handler is called.
    ///
    /// The closure is called off the main queue, and is not called after a failure.
    @discardableResult
    @preconcurrency
    public func validate(_ validation: @escaping Validation) -> Self {
        addValidator { (request: DataRequest, sent, response) in validation(sent, response, request.data) }
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
