// Digest authentication (RFC 7616), checked by libmicrohttpd.

import CMicrohttpd
import FixtureEndpoints
import Foundation

/// The endpoint `/digest-auth` of the tests' server, whose judge is not our own code.
struct DigestChallenge {
    private let endpoint: DigestEndpoint
    private var algorithm: MHD_DigestAuthAlgorithm { endpoint.usesSHA256 ? fw_digest_sha256 : fw_digest_md5 }

    /// `nil` when the request is for another endpoint.
    init?(_ request: ReceivedRequest) {
        guard let endpoint = DigestEndpoint(request) else { return nil }
        self.endpoint = endpoint
    }

    func answer(on connection: OpaquePointer) -> MHD_Result {
        let result = isAuthorised(connection)
        let body = result == 1 ? "{\n  \"authenticated\": true,\n  \"user\": \"\(endpoint.user)\"\n}" : ""
        let made = body.withCString { text in
            MHD_create_response_from_buffer(body.utf8.count, UnsafeMutableRawPointer(mutating: text), fw_must_copy)
        }
        guard let made else { return fw_no }
        defer { MHD_destroy_response(made) }
        guard result == 1 else {
            let isStale = result == fw_invalid_nonce ? 1 : 0
            return MHD_queue_auth_fail_response2(
                connection, DigestEndpoint.realm, "opaque", made, Int32(isStale), algorithm)
        }
        MHD_add_response_header(made, "Content-Type", "application/json")
        return MHD_queue_response(connection, 200, made)
    }

    private func isAuthorised(_ connection: OpaquePointer) -> Int32 {
        guard let name = MHD_digest_auth_get_username(connection) else { return 0 }
        defer { MHD_free(name) }
        guard String(cString: name) == endpoint.user else { return 0 }
        return MHD_digest_auth_check2(
            connection, DigestEndpoint.realm, endpoint.user, endpoint.password, 300, algorithm)
    }
}
