import Alamofire
import Foundation

@MainActor
public final class ProfileViewModel {
    public enum State {
        case idle, loading
        case loaded(Profile)
        case failed(AFError)
    }

    public private(set) var state = State.idle
    private let session: Session
    private var loading: Task<Void, Never>?

    public init(session: Session) {
        self.session = session
    }

    public func load(_ url: URL) async {
        state = .loading
        let response = await session.request(url).validate().serializingDecodable(Profile.self).response
        switch response.result {
        case .success(let profile): state = .loaded(profile)
        case .failure(let error): state = .failed(error)
        }
    }

    public func save(_ profile: Profile, to url: URL) async throws -> Profile {
        try await session.request(url, method: .put, parameters: profile, encoder: JSONParameterEncoder.default)
            .validate(statusCode: 200..<300)
            .validate(contentType: ["application/json"])
            .serializingDecodable(Profile.self)
            .value
    }

    public func startLoading(_ url: URL) {
        loading = Task { await load(url) }
    }

    public func stop() {
        loading?.cancel()
    }
}
