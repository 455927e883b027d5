import Alamofire
import Foundation

/// Downloads that are interrupted and go on.
public final class Downloader: @unchecked Sendable {
    private let session: Session
    private let lock = NSLock()
    private var resumeData: [URL: Data] = [:]

    public init(session: Session) {
        self.session = session
    }

    public func download(_ url: URL, to file: URL, completion: @escaping @Sendable (Result<URL, AFError>) -> Void)
        -> DownloadRequest
    {
        let destination: DownloadRequest.Destination = { _, _ in
            (file, [.removePreviousFile, .createIntermediateDirectories])
        }
        let request =
            if let data = lock.withLock({ resumeData.removeValue(forKey: url) }) {
                session.download(resumingWith: data, to: destination)
            } else {
                session.download(url, to: destination)
            }
        return
            request
            .downloadProgress(queue: .global()) { print($0.completedUnitCount, $0.totalUnitCount) }
            .validate()
            .response { [weak self] response in
                if let data = response.resumeData { self?.keep(data, for: url) }
                completion(response.result.map { $0 ?? file })
            }
    }

    public func pause(_ request: DownloadRequest, of url: URL) {
        request.cancel(byProducingResumeData: { [weak self] data in
            if let data { self?.keep(data, for: url) }
        })
    }

    public func stop(_ request: DownloadRequest) -> Data? {
        request.cancel(producingResumeData: true)
        return request.resumeData
    }

    private func keep(_ data: Data, for url: URL) {
        lock.withLock { resumeData[url] = data }
    }
}
