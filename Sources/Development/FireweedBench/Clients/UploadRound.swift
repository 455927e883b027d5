// Uploads of a file, directly or as parts of a form.

import CBareLoop
import Fireweed
import Foundation

/// Uploads the file that the runner has made: directly, or as one or two parts of a form.
struct UploadRound {
    let client: Client
    let partCount: Int

    /// The environment variable with the path of the file.
    static let fileVariable = "FIREWEED_BENCH_FILE"

    private struct Answer: Decodable, Sendable {
        let byteCount: Int
    }

    func run(_ url: URL) async throws {
        guard let path = ProcessInfo.processInfo.environment[Self.fileVariable] else {
            throw RoundError(text: "\(Self.fileVariable) names no file")
        }
        if client == .libcurlForm { return try bareForm(url, path) }
        if client == .libcurlUpload { return try bare(url, path) }
        let file = URL(fileURLWithPath: path)
        let session = Session()
        let request =
            client == .fireweedUploadFile
            ? session.upload(file, to: url, method: .put)
            : session.upload(
                multipartFormData: { form in
                    for _ in 0..<partCount {
                        form.append(file, withName: "file", fileName: "file", mimeType: "application/octet-stream")
                    }
                }, to: url)
        let answer = try await request.validate().serializingDecodable(Answer.self).value
        guard answer.byteCount >= partCount << 30 else { throw RoundError(text: "only \(answer.byteCount) bytes came") }
    }

    private func bare(_ url: URL, _ path: String) throws {
        let code = fw_bare_upload(url.absoluteString, path)
        guard code == 0 else { throw RoundError(text: "libcurl's upload failed: \(code)") }
    }

    private func bareForm(_ url: URL, _ path: String) throws {
        let code = path.withCString { pointer in
            [UnsafePointer<CChar>](repeating: pointer, count: partCount).withUnsafeBufferPointer { files in
                files.baseAddress.map { fw_bare_form(url.absoluteString, $0, Int32(partCount)) } ?? -1
            }
        }
        guard code == 0 else { throw RoundError(text: "libcurl's form failed: \(code)") }
    }
}
