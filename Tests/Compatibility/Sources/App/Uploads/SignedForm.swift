import Alamofire
import Foundation

/// A form with a content type of its own.
public final class SignedForm: MultipartFormData {
    public convenience init(signature: String) {
        self.init(fileManager: .default, boundary: "signed-\(signature)")
        append(Data(signature.utf8), withName: "signature")
    }

    public func appendFile(_ url: URL) {
        append(url, withName: "file", fileName: url.lastPathComponent, mimeType: "application/octet-stream")
    }

    public func appendStream(_ data: Data) {
        append(
            InputStream(data: data), withLength: UInt64(data.count), name: "stream", fileName: "s.bin",
            mimeType: "application/octet-stream")
        append(
            InputStream(data: data), withLength: UInt64(data.count),
            headers: [.contentDisposition("form-data; name=\"own\""), .contentType("text/plain")])
    }
}

/// `contentType` is open, and can be set.
public final class MixedForm: MultipartFormData {
    public override var contentType: String {
        get { "multipart/mixed; boundary=\(boundary)" }
        set {}
    }
}

public enum Forms {
    public static func encoded(_ form: MultipartFormData, to url: URL) throws -> (UInt64, String) {
        if form.contentLength > MultipartFormData.encodingMemoryThreshold {
            try form.writeEncodedData(to: url)
        } else {
            try form.encode().write(to: url)
        }
        return (form.contentLength, form.contentType)
    }

    public static func send(_ form: MultipartFormData, to url: URL, through session: Session) async throws -> Data {
        let request = try URLRequest(url: url, method: .post)
        return try await session.upload(multipartFormData: form, with: request, usingThreshold: 1024)
            .uploadProgress(queue: .global()) { _ in }
            .serializingData()
            .value
    }
}
