import Alamofire
import Foundation

/// Wrappers in the style of RxAlamofire, generic over serialisers, with JSON as `Any`.
struct Observed<Element> {
    let subscribe: (@escaping @Sendable (Result<Element, AFError>) -> Void) -> DataRequest
}

extension DataRequest {
    func observed<Serializer: DataResponseSerializerProtocol>(
        with serializer: Serializer
    ) -> Observed<Serializer.SerializedObject> {
        Observed { observer in self.response(responseSerializer: serializer) { observer($0.result) } }
    }

    func observedJSON(options: JSONSerialization.ReadingOptions = .allowFragments) -> Observed<Any> {
        observed(with: JSONResponseSerializer(options: options))
    }
}

@MainActor
public enum JSONObjects {
    /// The members of an object, three times: from a handler, an awaited response, and a wrapper of one's own.
    public static func keys(_ session: Session, _ url: URL) async -> [[String]] {
        let handled = await withCheckedContinuation { continuation in
            session.request(url).responseJSON { (response: AFDataResponse<Any>) in
                continuation.resume(returning: names(response.value))
            }
        }
        let task: DataTask<Any> = session.request(url).serializingResponse(using: JSONResponseSerializer())
        let response: DataResponse<Any, AFError> = await task.response
        let wrapped = await withCheckedContinuation { continuation in
            _ = session.request(url).observedJSON().subscribe { result in
                continuation.resume(returning: names(try? result.get()))
            }
        }
        return [handled, names(response.value), wrapped]
    }

    /// An awaited JSON file.
    static func downloaded(_ session: Session, _ url: URL) async throws -> [String: Any]? {
        let task: DownloadTask<Any> = session.download(url).serializingDownload(using: JSONResponseSerializer())
        return try await task.value as? [String: Any]
    }

    /// A serialiser that is kept as what it gives.
    static func erased() -> any DataResponseSerializerProtocol<Any> { JSONResponseSerializer() }

    nonisolated static func names(_ value: Any?) -> [String] { (value as? [String: Any] ?? [:]).keys.sorted() }
}
