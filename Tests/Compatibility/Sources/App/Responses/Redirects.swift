import Alamofire
import Foundation

/// Follows within one host only, and keeps the credentials there.
public struct SameHostRedirects: RedirectHandler {
    public init() {}

    public func task(
        _ task: URLSessionTask, willBeRedirectedTo request: URLRequest, for response: HTTPURLResponse,
        completion: @escaping (URLRequest?) -> Void
    ) {
        guard request.url?.host == response.url?.host else { return completion(nil) }
        var request = request
        if let authorization = task.currentRequest?.headers["Authorization"] {
            request.headers.update(name: "Authorization", value: authorization)
        }
        completion(request)
    }
}

enum Redirects {
    static let upgrading = Redirector(
        behavior: .modify { task, request, response in
            guard response.statusCode != 307 else { return nil }
            var request = request
            request.setValue("\(task.taskIdentifier)", forHTTPHeaderField: "X-Task")
            return request
        })

    static func requests(_ session: Session, _ url: URL) {
        session.request(url).redirect(using: .follow).resume()
        session.request(url).redirect(using: .doNotFollow).resume()
        session.request(url).redirect(using: .modify { _, request, _ in request }).resume()
        session.request(url).redirect(using: upgrading).resume()
        session.request(url).redirect(using: SameHostRedirects()).resume()
        session.request(url).redirect(using: Redirector.doNotFollow).resume()
    }

    static func text(_ behavior: Redirector.Behavior) -> String {
        switch behavior {
        case .follow: "follow"
        case .doNotFollow: "stay"
        case .modify: "modify"
        }
    }
}
