// What a handle is told for one transfer: URL, method, fields, content, connections.

import CCurl
import Foundation

extension EasyHandle {
    /// Tells libcurl the addresses of the host, unless it knows them.
    func tell(_ known: OriginAddresses) {
        guard let entry = known.entry, toldAddresses?.of !== known || toldAddresses?.version != known.version else {
            return
        }
        let list = curl_slist_append(nil, entry)
        check(fw_easy_set_list(easy, CURLOPT_RESOLVE, list))
        curl_slist_free_all(addresses)
        addresses = list
        toldAddresses = (known, known.version)
    }

    /// Leaves libcurl as much of the time for making a connection as the look-up of the name has left.
    func setConnectTimeout(less microseconds: Int64) {
        guard let limit = pool.settings.options.connectTimeout, limit > .zero else { return }
        hasShortConnectTimeout = true
        let rest = pool.settings.options.connectTimeoutMilliseconds - Int(microseconds / 1000)
        set(CURLOPT_CONNECTTIMEOUT_MS, max(1, rest))
    }

    /// Lets the transfer use none but the connections of this generation.
    func setGeneration(_ generation: Int) {
        guard generation != self.generation else { return }
        self.generation = generation
        // libcurl uses a connection again only for the same options. These mean something to Schannel alone.
        let bits = [Int(CURLSSLOPT_NO_REVOKE), Int(CURLSSLOPT_REVOKE_BEST_EFFORT), Int(CURLSSLOPT_AUTO_CLIENT_CERT)]
        let options = bits.enumerated().reduce(0) { generation >> $1.offset & 1 == 1 ? $0 | $1.element : $0 }
        set(CURLOPT_SSL_OPTIONS, options)
    }

    func setMethodAndContent(of transfer: Transfer) throws {
        let message = transfer.message
        let needsLength = message.method == "POST" || message.method == "PUT" || message.method == "PATCH"
        if case .none = message.body, !needsLength {
            if isPlainGet && message.method == "GET" { return }
            set(CURLOPT_NOBODY, 0)
            set(CURLOPT_HTTPGET, 1)
            isPlainGet = false  // until libcurl has taken the method
            if message.method == "HEAD" { set(CURLOPT_NOBODY, 1) }
            let isOrdinary = message.method == "GET" || message.method == "HEAD"
            try setText(CURLOPT_CUSTOMREQUEST, isOrdinary ? nil : message.method)
            isPlainGet = message.method == "GET"
            return
        }
        isPlainGet = false
        set(CURLOPT_NOBODY, 0)
        try setText(CURLOPT_CUSTOMREQUEST, message.method)
        switch message.body {
        case .none: setInline(Data())
        case .data(let data) where data.count <= RequestContent.inlineLimit: setInline(data)
        case .data(let data):
            transfer.content = .data(data, sent: 0)
            setUpload(byteCount: Int64(data.count))
        case .reader(let make):
            let reader = try make()
            transfer.content = .pump(pump(reader, for: transfer))
            setUpload(byteCount: reader.byteCount ?? -1)
        }
    }

    private func pump(_ reader: any BodyReader, for transfer: Transfer) -> BodyPump {
        let pump = BodyPump(reader: reader, loop: pool.context.loop)
        pump.whenReady = { [weak transfer, weak pump, unowned pool] in
            // A pump that another has replaced has no say any more.
            guard let transfer, let pump, case .pump(let current) = transfer.content, current === pump else { return }
            pool.contentIsReady(of: transfer)
        }
        return pump
    }

    /// Goes back in the content; false when that is impossible.
    ///
    /// A reader is made anew, so only the start will do.
    func rewindContent(of transfer: Transfer, to offset: Int) -> Bool {
        guard case .pump(let present) = transfer.content, case .reader(let make) = transfer.message.body else {
            return transfer.content.rewind(to: offset)
        }
        do {
            let reader = try make()
            // The length has been announced already.
            guard offset == 0, reader.byteCount == present.byteCount else { return false }
            transfer.content = .pump(pump(reader, for: transfer))
            return true
        } catch {
            transfer.failure = transfer.failure ?? .unreadableBody(error)
            return false
        }
    }

    private func setInline(_ data: Data) {
        set(CURLOPT_UPLOAD, 0)
        set(CURLOPT_POST, 1)
        setOffset(CURLOPT_POSTFIELDSIZE_LARGE, Int64(data.count))
        data.withUnsafeBytes { bytes in
            // A null pointer would make libcurl ask the read callback.
            let start = bytes.baseAddress ?? UnsafeRawPointer(errorText)
            check(fw_easy_set_pointer(easy, CURLOPT_COPYPOSTFIELDS, start))
        }
    }

    private func setUpload(byteCount: Int64) {
        set(CURLOPT_UPLOAD, 1)
        setOffset(CURLOPT_INFILESIZE_LARGE, byteCount)
    }

    /// Tells libcurl the URL and its parts; throws when it has no host, or libcurl cannot take it apart.
    func setURL(_ url: String) throws(TransferFailure) {
        // What is left of an earlier URL would complete one without an authority.
        curl_url_set(parts, CURLUPART_URL, nil, 0)
        guard RequestMessage.hasAuthority(url) else {
            throw .exchange(.badURL, detail: "the URL has no host", engineCode: Int(CURLE_URL_MALFORMAT.rawValue))
        }
        // As libcurl takes `CURLOPT_URL` apart, and puts it together to send it again.
        let rules = UInt32(CURLU_NON_SUPPORT_SCHEME | CURLU_PATH_AS_IS)
        var text: UnsafeMutablePointer<CChar>?
        defer { curl_free(text) }
        var code = curl_url_set(parts, CURLUPART_URL, url, rules)
        if code == CURLUE_OK { code = curl_url_get(parts, CURLUPART_URL, &text, 0) }
        guard code == CURLUE_OK, let text else {
            let detail = String(cString: curl_url_strerror(code))
            throw .exchange(.badURL, detail: detail, engineCode: Int(CURLE_URL_MALFORMAT.rawValue))
        }
        try setText(CURLOPT_URL, String(cString: text))
        set(CURLOPT_CURLU, pointer: UnsafeRawPointer(parts))
        let wasSecure = isSecure
        isSecure = url.hasBytePrefix("https:")
        if isSecure != wasSecure { set(CURLOPT_PIPEWAIT, isSecure ? 1 : 0) }
    }

    /// Tells libcurl the addresses that the options have for the host of the URL.
    func setAddresses() {
        guard let list = AddressList.make(for: url, options: pool.settings.options) else { return }
        toldAddresses = nil
        check(fw_easy_set_list(easy, CURLOPT_RESOLVE, list))
        curl_slist_free_all(addresses)
        addresses = list
    }

    func setFields(_ block: FieldBlock, hasContent: Bool) {
        guard block !== listedFields || hasContent != listedForContent else { return }
        curl_slist_free_all(list)
        list = FieldList.make(block, hasContent: hasContent, writing: pool.settings.options.fieldWriting)
        listedByteCount = block.fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }
        listedFields = block
        listedForContent = hasContent
        check(fw_easy_set_list(easy, CURLOPT_HTTPHEADER, list))
        let proxyFields = FieldList.makeForProxy(block)
        guard proxyFields != nil || proxyList != nil else { return }
        curl_slist_free_all(proxyList)
        proxyList = proxyFields
        check(fw_easy_set_list(easy, CURLOPT_PROXYHEADER, proxyFields))
    }

    /// Throws when the head would be longer than libcurl makes it: 1 MiB with content that goes out in the same write.
    func checkLength(of message: RequestMessage) throws(TransferFailure) {
        var byteCount = message.method.utf8.count + message.url.utf8.count + listedByteCount
        if let credentials = message.credentials {
            byteCount += 2 * (credentials.user.utf8.count + credentials.password.utf8.count)
        }
        guard byteCount > Self.maximumHeadByteCount else { return }
        let detail =
            "method, URL and fields have \(byteCount) bytes, and at most \(Self.maximumHeadByteCount) can be sent"
        throw .exchange(.dataLengthExceedsMaximum, detail: detail, engineCode: 0)
    }

    /// libcurl's limit, with room for content and for what libcurl adds.
    private static let maximumHeadByteCount = 1024 * 1024 - RequestContent.inlineLimit - 16 * 1024
}
