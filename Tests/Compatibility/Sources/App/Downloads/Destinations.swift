import Alamofire
import Foundation

enum Downloading {
    static let documents = DownloadRequest.suggestedDownloadDestination()
    static let caches = DownloadRequest.suggestedDownloadDestination(
        for: .cachesDirectory, in: .userDomainMask, options: [.removePreviousFile])

    static func destination(in folder: URL) -> DownloadRequest.Destination {
        { temporaryURL, response in
            let name = response.suggestedFilename ?? temporaryURL.lastPathComponent
            return (folder.appendingPathComponent(name), options: [.createIntermediateDirectories])
        }
    }

    static func everyForm(_ session: Session, _ url: URL) async throws -> URL {
        session.download(url, method: .post, parameters: ["a": "b"], encoder: .json, to: caches).responseData {
            response in
            print(response.fileURL as Any, response.value?.count ?? 0)
        }
        session.download(url, method: .get, parameters: ["a": 1], encoding: URLEncoding.default).responseString {
            print($0)
        }
        session.download(URLRequest(url: url)).responseDecodable(of: Article.self) { print($0.result) }
        session.download(url).responseURL { print($0.value as Any) }
        let request = session.download(url, to: destination(in: FileManager.default.temporaryDirectory))
        for await progress in request.downloadProgress() where progress.isFinished { break }
        switch request.downloadable {
        case .request(let convertible): print(convertible)
        case .resumeData(let data): print(data.count)
        }
        _ = await session.download(url).serializingData().response
        _ = try await session.download(url).serializingDecodable(Article.self).value
        _ = await session.download(url).serializingString().result
        return try await session.download(url, to: documents).serializingDownloadedFileURL().value
    }

    static func validated(_ request: DownloadRequest) -> DownloadRequest {
        request.validate { request, response, fileURL in
            guard let fileURL,
                let size = try? FileManager.default.attributesOfItem(atPath: fileURL.path)[.size] as? Int,
                size > 0
            else { return .failure(URLError(.zeroByteResource)) }
            _ = (request, response)
            return .success(())
        }
    }
}
