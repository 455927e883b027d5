// Generated content of uploads.

import Fireweed
import Foundation

/// The content of planned uploads, byte for byte as the server receives it.
enum GeneratedContent {
    static func bytes(of operation: Operation) -> Data {
        let data = KnownContent.bytes(id: operation.target.id, count: operation.target.byteCount)
        guard case .upload(.form) = operation.kind else { return data }
        return (try? form(of: operation).encode()) ?? Data()
    }

    /// A form with a fixed boundary, so that its encoded bytes are known.
    static func form(of operation: Operation) -> MultipartFormData {
        let form = MultipartFormData(boundary: "chaos-\(operation.target.id)")
        form.append(
            KnownContent.bytes(id: operation.target.id, count: operation.target.byteCount), withName: "content",
            fileName: "content.bin", mimeType: "application/octet-stream")
        form.append(Data("\(operation.number)".utf8), withName: "number")
        return form
    }
}
