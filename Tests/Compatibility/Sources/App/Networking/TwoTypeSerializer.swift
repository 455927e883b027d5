import Alamofire
import Foundation

/// Gives a result of two decodable types, and is a failure only when neither can be had.
public struct TwoTypeSerializer<Success: Decodable & Sendable, Failure: Decodable & Error & Sendable>:
    DataResponseSerializerProtocol
{
    public typealias SerializedObject = Result<Success, Failure>

    private let success = DecodableResponseSerializer<Success>()
    private let failure = DecodableResponseSerializer<Failure>()

    public init() {}

    public func serialize(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: Error?
    ) throws -> Result<Success, Failure> {
        guard let response else {
            throw error ?? AFError.responseSerializationFailed(reason: .inputDataNilOrZeroLength)
        }
        if (200..<300).contains(response.statusCode) {
            return .success(try success.serialize(request: request, response: response, data: data, error: nil))
        }
        return .failure(try failure.serialize(request: request, response: response, data: data, error: nil))
    }
}

extension DataRequest {
    @discardableResult
    func responseTwoTypes<S: Decodable & Sendable, F: Decodable & Error & Sendable>(
        success: S.Type, failure: F.Type,
        completionHandler: @escaping @Sendable (DataResponse<Result<S, F>, AFError>) -> Void
    ) -> Self {
        response(responseSerializer: TwoTypeSerializer<S, F>(), completionHandler: completionHandler)
    }
}

extension DataTask {
    /// The value, or the error of the server's own.
    func unwrapped<S, F>() async throws -> S where Value == Result<S, F> {
        try await value.get()
    }
}
