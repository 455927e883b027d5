import Alamofire
import Foundation

final class BasicAuthentication: Sendable {
    private let session: Session

    init(session: Session) {
        self.session = session
    }

    func logIn(_ user: String, _ password: String, at url: URL) async -> Bool {
        let response = await session.request(url)
            .authenticate(username: user, password: password)
            .serializingData()
            .response
        return response.response?.statusCode == 200
    }

    func logInForGood(_ credential: URLCredential, at url: URL, completion: @escaping @Sendable (Bool) -> Void) {
        session.request(url).authenticate(with: credential).response { completion($0.error == nil) }
    }

    func preemptively(_ url: URL) -> DataRequest {
        session.request(url, headers: [.authorization(username: "ada", password: "secret")])
            .authenticate(username: "ada", password: "secret", persistence: .none)
    }
}
