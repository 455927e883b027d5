import Alamofire
import Foundation

public struct AsyncLines: Sendable {
    public let session: Session

    public init(session: Session) {
        self.session = session
    }

    public func collect(_ url: URL) async throws -> String {
        var text = ""
        for await stream in session.streamRequest(url).streamTask().streamingStrings() {
            switch stream.event {
            case .stream(.success(let piece)): text += piece
            case .complete(let completion): if let error = completion.error { throw error }
            }
        }
        return text
    }

    func articles(_ url: URL) -> AsyncStream<Article> {
        AsyncStream { continuation in
            let task = Task {
                let stream = session.streamRequest(url).streamTask()
                for await element in stream.streamingDecodables(Article.self, bufferingPolicy: .bufferingNewest(8)) {
                    if let article = element.value { continuation.yield(article) }
                }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    func everything(_ url: URL) async {
        let request = session.request(url)
        async let requests: Int = request.urlRequests().reduce(into: 0) { count, _ in count += 1 }
        async let tasks: [URLSessionTask] = request.urlSessionTasks().reduce(into: []) { $0.append($1) }
        async let commands: [String] = request.cURLDescriptions().reduce(into: []) { $0.append($1) }
        async let responses: [HTTPURLResponse] = request.httpResponses().reduce(into: []) { $0.append($1) }
        request.resume()
        print(await requests, await tasks.count, await commands, await responses)
        let task = session.streamRequest(url).streamTask()
        for await data in task.streamingData(automaticallyCancelling: false) { print(data.value?.count ?? 0) }
        for await words in task.streamingResponses(serializedUsing: Words()) { print(words.value ?? []) }
        task.cancel()
    }

    func head(_ url: URL) async -> Bool {
        let request = session.request(url).onHTTPResponse { response in
            response.expectedContentLength > 1_000_000 ? .cancel : .allow
        }
        return await request.serializingData().response.error == nil
    }
}
