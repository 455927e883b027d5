import Alamofire
import Foundation

/// A convertible that makes both the request and what to upload.
struct Backup: UploadConvertible {
    let file: URL

    func asURLRequest() throws -> URLRequest {
        try URLRequest(url: "https://example.com/backup", method: .put, headers: ["Content-Type": "application/zip"])
    }

    func createUploadable() throws -> UploadRequest.Uploadable {
        .file(file, shouldRemove: false)
    }
}

public final class FileUploader: Sendable {
    private let session: Session

    public init(session: Session) {
        self.session = session
    }

    public func upload(_ data: Data, to url: URL, progress: @escaping @Sendable (Double) -> Void) async
        -> AFDataResponse<String>
    {
        let request = session.upload(data, to: url, method: .post, headers: nil, interceptor: .retryPolicy)
        let watching = Task {
            for await step in request.uploadProgress() { progress(step.fractionCompleted) }
        }
        defer { watching.cancel() }
        return await request.serializingString().response
    }

    func upload(file: URL, to url: URL, completion: @escaping @Sendable (Result<Data?, AFError>) -> Void)
        -> UploadRequest
    {
        session.upload(file, to: url, fileManager: .default) { $0.timeoutInterval = 600 }
            .response(queue: .global(qos: .utility)) { completion($0.result) }
    }

    func upload(stream: @autoclosure () -> InputStream, to url: URL) -> UploadRequest {
        session.upload(stream(), to: url, headers: ["Content-Type": "text/plain"])
    }

    func uploadBackup(_ backup: Backup) throws -> UploadRequest {
        switch try backup.createUploadable() {
        case .data(let data): session.upload(data, with: backup)
        case .file(let url, let shouldRemove):
            session.upload(url, with: backup).response { _ in
                if shouldRemove { try? FileManager.default.removeItem(at: url) }
            }
        case .stream(let stream): session.upload(stream, with: backup)
        }
    }
}
