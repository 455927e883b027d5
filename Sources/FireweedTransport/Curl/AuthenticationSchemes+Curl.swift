// Authentication, told to libcurl.

import CCurl

extension AuthenticationSchemes {
    /// The same as libcurl's mask.
    var curlMask: Int {
        var mask = 0
        if contains(.basic) { mask |= fw_auth_basic }
        if contains(.digest) { mask |= fw_auth_digest }
        if contains(.ntlm) { mask |= fw_auth_ntlm }
        if contains(.negotiate) { mask |= fw_auth_negotiate }
        return mask
    }
}

extension EasyHandle {
    /// Gives libcurl what to answer the origin's challenges with.
    ///
    /// Throws when they are too long for libcurl.
    func apply(_ credentials: RequestMessage.Credentials) throws(TransferFailure) {
        set(CURLOPT_HTTPAUTH, credentials.schemes.curlMask)
        try setText(CURLOPT_USERNAME, credentials.user)
        try setText(CURLOPT_PASSWORD, credentials.password)
        if credentials.schemes.contains(.negotiate) { setUsesOwnConnection(true) }
    }

    /// Takes it back, so that the handle's next transfer has nothing of it.
    func forget(_ credentials: RequestMessage.Credentials) {
        set(CURLOPT_USERNAME, nil)
        set(CURLOPT_PASSWORD, nil)
        set(CURLOPT_HTTPAUTH, fw_auth_basic)
        if credentials.schemes.contains(.negotiate) { setUsesOwnConnection(false) }
    }

    /// Negotiate authenticates the connection, which libcurl 7.88 would lend to requests of other users afterwards.
    private func setUsesOwnConnection(_ isOn: Bool) {
        set(CURLOPT_FRESH_CONNECT, isOn ? 1 : 0)
        set(CURLOPT_FORBID_REUSE, isOn ? 1 : 0)
    }
}
