import Alamofire
import Foundation

@MainActor
final class SearchViewModel {
    private(set) var results: [Article] = []
    private(set) var lastStatusCode: Int?
    private var inFlight: [String: DataRequest] = [:]

    func search(_ term: String) {
        inFlight.values.forEach { $0.cancel() }
        inFlight.removeAll()
        let request = AF.request(
            "https://example.com/search", parameters: ["q": term, "limit": "20"],
            encoder: URLEncodedFormParameterEncoder(destination: .queryString), headers: ["Accept": "application/json"])
        inFlight[term] = request
        request
            .onHTTPResponse { response in
                self.lastStatusCode = response.statusCode
            }
            .response { [weak self] response in
                self?.inFlight[term] = nil
                guard let data = response.data, let found = try? JSONDecoder().decode([Article].self, from: data) else {
                    if response.error?.isExplicitlyCancelledError == true { return }
                    self?.results = []
                    return
                }
                self?.results = found
            }
    }

    func count(_ terms: [String], completion: @escaping @MainActor @Sendable ([String: Int]) -> Void) {
        let group = DispatchGroup()
        let counts = Counts()
        for term in terms {
            group.enter()
            AF.request("https://example.com/count/\(term)").responseString { response in
                counts.set(response.value.flatMap(Int.init) ?? 0, for: term)
                group.leave()
            }
        }
        group.notify(queue: .main) {
            MainActor.assumeIsolated { completion(counts.all) }
        }
    }
}

private final class Counts: @unchecked Sendable {
    private let lock = NSLock()
    private var counts: [String: Int] = [:]

    var all: [String: Int] { lock.withLock { counts } }

    func set(_ count: Int, for term: String) {
        lock.withLock { counts[term] = count }
    }
}
