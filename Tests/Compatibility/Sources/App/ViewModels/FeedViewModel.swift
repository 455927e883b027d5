import Alamofire
import Foundation

@MainActor
public final class FeedViewModel {
    public private(set) var articles: [Article] = []
    public private(set) var isLoading = false
    public private(set) var errorText: String?
    public private(set) var progress = 0.0
    private let session: Session
    private var request: DataRequest?

    public init(session: Session = AF) {
        self.session = session
    }

    public func load(from url: URLConvertible) {
        isLoading = true
        request?.cancel()
        request = session.request(url)
            .validate()
            .downloadProgress { self.progress = $0.fractionCompleted }
            .responseDecodable(of: [Article].self) { response in
                self.isLoading = false
                switch response.result {
                case .success(let articles):
                    self.articles = articles
                case .failure(let error):
                    self.errorText = error.localizedDescription
                }
            }
    }

    public func refresh(from url: URLConvertible, completion: @escaping @MainActor (Int) -> Void) {
        session.request(url).responseDecodable(of: [Article].self) { [weak self] response in
            guard let self else { return }
            self.articles = response.value ?? []
            completion(self.articles.count)
        }
    }
}
