import Alamofire
import Foundation

/// Lines of text, with a preprocessor of its own.
struct LinesSerializer: ResponseSerializer {
    let dataPreprocessor: any DataPreprocessor = TrimmingPreprocessor()
    let emptyResponseCodes: Set<Int> = [204, 205, 304]
    let emptyRequestMethods: Set<HTTPMethod> = [.head, .options]

    func serialize(request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?) throws
        -> [String]
    {
        if let error { throw error }
        guard let data else { return [] }
        return try String(decoding: dataPreprocessor.preprocess(data), as: UTF8.self).components(separatedBy: "\n")
    }
}

struct TrimmingPreprocessor: DataPreprocessor {
    func preprocess(_ data: Data) throws -> Data {
        Data(data.drop { $0 == 0x20 || $0 == 0x0A })
    }
}

extension ResponseSerializer where Self == LinesSerializer {
    static var lines: LinesSerializer { LinesSerializer() }
}

struct PropertyListPart: DataDecoder {
    func decode<D: Decodable>(_ type: D.Type, from data: Data) throws -> D {
        try PropertyListDecoder().decode(type, from: data)
    }
}

enum Serializing {
    static func everyKind(_ session: Session, _ url: URL) {
        session.request(url).response(responseSerializer: .lines) { print($0.value?.count ?? 0) }
        session.request(url).response(responseSerializer: .data) { print($0.value ?? Data()) }
        session.request(url).response(responseSerializer: .string(encoding: .utf8)) { print($0.value ?? "") }
        session.request(url).response(responseSerializer: .decodable(of: Article.self)) { print($0.result) }
        session.request(url).responseDecodable(of: Profile.self, decoder: PropertyListPart()) { print($0.result) }
        session.request(url).responseData(
            queue: .global(), dataPreprocessor: .googleXSSI, emptyResponseCodes: [404], emptyRequestMethods: [.head]
        ) { print($0.data?.count ?? 0) }
        session.download(url).response(responseSerializer: .url) { print($0.value ?? url) }
        session.download(url).response(responseSerializer: LinesSerializer()) { print($0.fileURL ?? url) }
    }

    static func task(_ session: Session, _ url: URL) async throws -> [String] {
        try await session.request(url).serializingResponse(using: LinesSerializer()).value
    }

    static func mapped(_ response: AFDataResponse<Data>) throws -> DataResponse<String, any Error> {
        response
            .map { $0.base64EncodedString() }
            .mapError { $0.underlyingError ?? $0 }
            .tryMap { text in
                guard !text.isEmpty else { throw URLError(.zeroByteResource) }
                return text
            }
    }
}
