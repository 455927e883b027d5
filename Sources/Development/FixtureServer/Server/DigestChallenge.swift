// Digest authentication (RFC 7616), checked by libmicrohttpd.

import CMicrohttpd
import Foundation

/// The endpoint `/digest-auth/QOP/USER/PASSWORD[/ALGORITHM]`; QOP is ignored, and the algorithm is MD5 unless
/// `SHA-256`.
struct DigestChallenge {
    private let user: String
    private let password: String
    private let algorithm: MHD_DigestAuthAlgorithm
    private static let realm = "fixture"

    /// `nil` when the request is for another endpoint.
    init?(_ request: ReceivedRequest) {
        let parts = request.path.split(separator: "/").map(String.init)
        guard parts.count >= 4, parts[0] == "digest-auth" else { return nil }
        user = parts[2]
        password = parts[3]
        algorithm = parts.count > 4 && parts[4] == "SHA-256" ? fw_digest_sha256 : fw_digest_md5
    }

    func answer(on connection: OpaquePointer) -> MHD_Result {
        let result = isAuthorised(connection)
        let body = result == 1 ? "{\n  \"authenticated\": true,\n  \"user\": \"\(user)\"\n}" : ""
        let made = body.withCString { text in
            MHD_create_response_from_buffer(body.utf8.count, UnsafeMutableRawPointer(mutating: text), fw_must_copy)
        }
        guard let made else { return fw_no }
        defer { MHD_destroy_response(made) }
        guard result == 1 else {
            let isStale = result == fw_invalid_nonce ? 1 : 0
            return MHD_queue_auth_fail_response2(connection, Self.realm, "opaque", made, Int32(isStale), algorithm)
        }
        MHD_add_response_header(made, "Content-Type", "application/json")
        return MHD_queue_response(connection, 200, made)
    }

    private func isAuthorised(_ connection: OpaquePointer) -> Int32 {
        guard let name = MHD_digest_auth_get_username(connection) else { return 0 }
        defer { MHD_free(name) }
        guard String(cString: name) == user else { return 0 }
        return MHD_digest_auth_check2(connection, Self.realm, user, password, 300, algorithm)
    }
}
