import Alamofire
import Foundation

/// A class that is not `Sendable` as the value.
class OldObject: Decodable {
    var name = ""
}

struct OldSerializer<T>: DataResponseSerializerProtocol {
    let transform: (Data) throws -> T

    func serialize(request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: Error?) throws -> T {
        if let error = error { throw error }
        guard let data = data else { throw AFError.responseSerializationFailed(reason: .inputDataNilOrZeroLength) }
        return try transform(data)
    }
}

final class OldObjectSerializer<T: Decodable>: ResponseSerializer {
    func serialize(request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: Error?) throws -> T {
        return try JSONDecoder().decode(T.self, from: data ?? Data())
    }
}

func oldObjects(_ url: URL, completion: @escaping (OldObject?) -> Void) {
    AF.request(url).responseDecodable(of: OldObject.self) { completion($0.value) }
    AF.request(url).response(responseSerializer: OldObjectSerializer<OldObject>()) { completion($0.value) }
    AF.request(url).response(responseSerializer: OldSerializer { String(decoding: $0, as: UTF8.self) }) { print($0) }
}

func oldUpload(_ image: Data, _ parameters: [String: Any], completion: @escaping (Bool) -> Void) {
    AF.upload(
        multipartFormData: { form in
            for (key, value) in parameters {
                form.append("\(value)".data(using: .utf8)!, withName: key)
            }
            form.append(image, withName: "image", fileName: "image.png", mimeType: "image/png")
        }, to: "https://example.com/upload", method: .post, headers: nil
    )
    .uploadProgress { print($0.fractionCompleted) }
    .response { completion($0.error == nil) }
}

func oldDownload(_ url: String, completion: @escaping (URL?) -> Void) {
    let destination: DownloadRequest.Destination = { _, response in
        let folder = FileManager.default.urls(for: .documentDirectory, in: .userDomainMask)[0]
        return (folder.appendingPathComponent(response.suggestedFilename ?? "file"), [.removePreviousFile])
    }
    AF.download(url, to: destination).response { completion($0.fileURL) }
}
