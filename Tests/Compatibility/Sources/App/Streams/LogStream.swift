import Alamofire
import Foundation

/// Reads a log as it comes, with handlers.
public final class LogStream: Sendable {
    public enum Event: Sendable {
        case line(String)
        case ended(AFError?)
    }

    private let session: Session

    public init(session: Session) {
        self.session = session
    }

    @discardableResult
    public func open(_ url: URL, handler: @escaping @Sendable (Event) -> Void) -> DataStreamRequest {
        session.streamRequest(url, automaticallyCancelOnStreamError: true)
            .validate(statusCode: 200..<300)
            .responseStreamString { stream in
                switch stream.event {
                case .stream(let result):
                    switch result {
                    case .success(let text): handler(.line(text))
                    }
                case .complete(let completion):
                    handler(.ended(completion.error))
                }
            }
    }

    func articles(_ url: URL, limit: Int) {
        session.streamRequest(url, method: .post, parameters: ["limit": limit]).responseStreamDecodable(
            of: Article.self
        ) {
            stream in
            if stream.value?.id == limit { stream.cancel() }
            if let error = stream.error { print(error) }
            if let completion = stream.completion { print(completion.metrics as Any, completion.response as Any) }
        }
    }

    func bytes(_ url: URL) -> InputStream? {
        session.streamRequest(url).asInputStream(bufferSize: 4096)
    }

    func words(_ url: URL) {
        let handler: DataStreamRequest.Handler<[String], AFError> = { stream in
            if case .stream(.success(let words)) = stream.event { print(words) }
        }
        session.streamRequest(URLRequest(url: url)).responseStream(using: Words(), stream: handler)
        session.streamRequest(url).responseStream { print($0.token) }
    }
}

struct Words: DataStreamSerializer {
    func serialize(_ data: Data) throws -> [String] {
        String(decoding: data, as: UTF8.self).split(separator: " ").map(String.init)
    }
}
