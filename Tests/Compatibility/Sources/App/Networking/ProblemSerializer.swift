import Alamofire
import Foundation

/// Reads the value of a response that is a success, and the server's error model of one that is not.
public final class ProblemSerializer<Value: Decodable & Sendable>: ResponseSerializer {
    public let decoder: any DataDecoder
    public let emptyResponseCodes: Set<Int>
    public let emptyRequestMethods: Set<HTTPMethod>

    public init(
        decoder: any DataDecoder = JSONDecoder(),
        emptyResponseCodes: Set<Int> = ProblemSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = ProblemSerializer.defaultEmptyRequestMethods
    ) {
        self.decoder = decoder
        self.emptyResponseCodes = emptyResponseCodes
        self.emptyRequestMethods = emptyRequestMethods
    }

    public func serialize(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
    ) throws -> Value {
        if let error {
            if let data, let problem = try? decoder.decode(Problem.self, from: data) { throw problem }
            throw error
        }
        guard let data, !data.isEmpty else {
            guard emptyResponseAllowed(forRequest: request, response: response) else {
                throw AFError.responseSerializationFailed(reason: .inputDataNilOrZeroLength)
            }
            guard let empty = Value.self as? any EmptyResponse.Type, let value = empty.emptyValue() as? Value else {
                throw AFError.responseSerializationFailed(reason: .invalidEmptyResponse(type: "\(Value.self)"))
            }
            return value
        }
        do {
            return try decoder.decode(Value.self, from: dataPreprocessor.preprocess(data))
        } catch {
            throw AFError.responseSerializationFailed(reason: .decodingFailed(error: error))
        }
    }
}

extension DataRequest {
    @discardableResult
    public func responseOrProblem<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, queue: DispatchQueue = .main,
        completionHandler: @escaping @Sendable (AFDataResponse<Value>) -> Void
    ) -> Self {
        validate().response(
            queue: queue, responseSerializer: ProblemSerializer<Value>(), completionHandler: completionHandler)
    }

    public func problem(in error: AFError?) -> Problem? {
        guard case .responseSerializationFailed(reason: .customSerializationFailed(let error))? = error else {
            return nil
        }
        return error as? Problem
    }
}
