import Alamofire
import Foundation

extension DataRequest {
    /// Accepts what says that it is fine, whatever the status.
    @discardableResult
    func validateEnvelope() -> Self {
        validate { request, response, data in
            struct Envelope: Decodable { let ok: Bool }
            guard let data, let envelope = try? JSONDecoder().decode(Envelope.self, from: data) else {
                let reason: AFError.ResponseValidationFailureReason = .unacceptableStatusCode(code: response.statusCode)
                return .failure(AFError.responseValidationFailed(reason: reason))
            }
            _ = request
            return envelope.ok ? .success(()) : .failure(Problem(error: "not ok"))
        }
    }
}

enum Validating {
    static let check: DataRequest.Validation = { _, response, _ in
        response.statusCode == 200 ? .success(()) : .failure(URLError(.badServerResponse))
    }

    static func all(_ session: Session, _ url: URL) {
        session.request(url)
            .validate()
            .validate(statusCode: 200...299)
            .validate(statusCode: [200, 201])
            .validate(contentType: ["application/json", "text/*", "*/*"])
            .validate(check)
            .validateEnvelope()
            .resume()
        session.streamRequest(url).validate().validate { _, response in
            response.statusCode < 300 ? .success(()) : .failure(URLError(.badServerResponse))
        }.resume()
    }
}
