import Alamofire
import Foundation

/// Stores a response for an hour, and leaves out what is large.
public struct HourCache: CachedResponseHandler {
    public init() {}

    public func dataTask(
        _ task: URLSessionDataTask, willCacheResponse response: CachedURLResponse,
        completion: @escaping (CachedURLResponse?) -> Void
    ) {
        guard response.data.count < 1_000_000, task.originalRequest?.httpMethod == "GET" else { return completion(nil) }
        completion(
            CachedURLResponse(
                response: response.response, data: response.data, userInfo: ["stored": Date()], storagePolicy: .allowed)
        )
    }
}

enum Caching {
    static let dated = ResponseCacher(
        behavior: .modify { task, response in
            guard let http = response.response as? HTTPURLResponse, let url = http.url, http.statusCode == 200,
                let dated = HTTPURLResponse(
                    url: url, statusCode: 200, httpVersion: "HTTP/1.1",
                    headerFields: http.headers.dictionary.merging(["Cache-Control": "max-age=60"]) { $1 })
            else { return response }
            _ = task.taskIdentifier
            return CachedURLResponse(response: dated, data: response.data)
        })

    static func session() -> Session {
        let configuration = URLSessionConfiguration.af.default
        configuration.urlCache = URLCache(memoryCapacity: 10_000_000, diskCapacity: 0, diskPath: nil)
        configuration.requestCachePolicy = .returnCacheDataElseLoad
        return Session(configuration: configuration, cachedResponseHandler: HourCache())
    }

    static func requests(_ session: Session, _ url: URL) {
        session.request(url).cacheResponse(using: .cache).resume()
        session.request(url).cacheResponse(using: .doNotCache).resume()
        session.request(url).cacheResponse(using: .modify { _, response in response }).resume()
        session.request(url).cacheResponse(using: dated).resume()
        session.request(url) { $0.cachePolicy = .returnCacheDataDontLoad }.cacheResponse(using: HourCache()).resume()
    }
}
