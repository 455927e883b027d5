import Alamofire
import Foundation

enum FormEncoders {
    static var strict: URLEncodedFormEncoder {
        URLEncodedFormEncoder(
            alphabetizeKeyValuePairs: false, arrayEncoding: .indexInBrackets, boolEncoding: .literal,
            dataEncoding: .base64, dateEncoding: .iso8601, keyEncoding: .convertToSnakeCase, keyPathEncoding: .dots,
            nilEncoding: .null, spaceEncoding: .plusReplaced,
            allowedCharacters: .afURLQueryAllowed.subtracting(CharacterSet(charactersIn: "/")))
    }

    static var custom: URLEncodedFormEncoder {
        URLEncodedFormEncoder(
            arrayEncoding: .custom { key, index in "\(key).\(index)" },
            dataEncoding: .custom { $0.base64EncodedString(options: .lineLength64Characters) },
            dateEncoding: .custom { "\(Int($0.timeIntervalSince1970))" },
            keyEncoding: .custom { $0.uppercased() },
            keyPathEncoding: .init { "->\($0)" },
            nilEncoding: .init { "nothing" })
    }

    static func text<Value: Encodable>(_ value: Value) throws -> String {
        try strict.encode(value)
    }

    static func request(_ profile: Profile, _ url: URL, _ session: Session) -> DataRequest {
        session.request(
            url, method: .post, parameters: profile,
            encoder: .urlEncodedForm(encoder: strict, destination: .httpBody))
    }

    static let encoders: [any ParameterEncoder] = [
        URLEncodedFormParameterEncoder.default,
        URLEncodedFormParameterEncoder(encoder: custom, destination: .queryString),
        JSONParameterEncoder.default, JSONParameterEncoder.prettyPrinted, JSONParameterEncoder.sortedKeys,
    ]
    static let encodings: [any ParameterEncoding] = [
        URLEncoding.default, URLEncoding.queryString, URLEncoding.httpBody, JSONEncoding.default,
        URLEncoding(destination: .methodDependent, arrayEncoding: .noBrackets, boolEncoding: .literal),
        JSONEncoding(options: [.sortedKeys]),
    ]
}

/// Encoders above Alamofire's.
public final class WrappingJSONEncoder: JSONParameterEncoder, @unchecked Sendable {
    public override func encode<Parameters: Encodable>(_ parameters: Parameters?, into request: URLRequest) throws
        -> URLRequest
    {
        try super.encode(Wrapped(data: parameters), into: request)
    }
}

private struct Wrapped<Value: Encodable>: Encodable {
    let data: Value?
}

final class SignedFormEncoder: URLEncodedFormParameterEncoder, @unchecked Sendable {
    override func encode<Parameters: Encodable>(_ parameters: Parameters?, into request: URLRequest) throws
        -> URLRequest
    {
        var request = try super.encode(parameters, into: request)
        request.headers.add(name: "X-Length", value: "\(request.httpBody?.count ?? 0)")
        return request
    }
}
