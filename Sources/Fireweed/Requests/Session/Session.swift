// Sessions, and the methods that make requests.
//
// The methods stay in the class, although the file is long: Swift cannot override methods of extensions.

public import Dispatch
public import FireweedTransport
public import Foundation
public import FoundationNetworking

/// Makes requests, and owns the parts that they share: connections, cookies, trust, interception and observation.
///
/// A session ends when its last reference is released: every unfinished request then fails with
/// `AFError.sessionDeinitialized`.
///
/// ```swift
/// let session = Session()
/// let user = try await session.request("https://example.com/user").validate().serializingDecodable(User.self).value
/// ```
open class Session: @unchecked Sendable {
    // The methods that subclasses can override are in this class body: Swift cannot override members of extensions.

    // SAFETY: the stored property is a `let` of `Sendable` type.

    /// A session with default settings, which every part of the program shares.
    public static let `default` = Session()

    /// Changes a `URLRequest` while it is being made.
    public typealias RequestModifier = @Sendable (inout URLRequest) throws -> Void

    /// The moment at which the `URLRequest` of a request is made.
    public enum RequestSetup: Sendable {
        /// When the request is created.
        case eager
        /// When the request is resumed for the first time.
        case lazy
    }

    let core: SessionCore

    /// Makes a session with the configuration of a `URLSession`.
    ///
    /// - Parameters:
    ///   - session: provides the configuration, which is copied; monitors and delegates get this session. It never
    ///     sends a byte; its own delegate and delegate queue are not used.
    ///   - delegate: provides the file manager for downloads. A subclass is notified of every task, and makes the
    ///     decisions that it overrides.
    ///   - rootQueue: where the session's own asynchronous work runs; must be serial.
    ///   - startRequestsImmediately: whether the first response handler resumes a request; true by default.
    ///   - requestSetup: when the `URLRequest` of a request is made; when the request is first resumed, by default.
    ///   - requestQueue: where requests are made and adapted; `nil`, the default, does it on the thread that resumes
    ///     them.
    ///   - serializationQueue: where response serialisers run; `nil`, the default, makes a queue.
    ///   - interceptor: adapts and retries every request, before the request's own interceptor.
    ///   - serverTrustManager: evaluates servers inside the TLS handshake; `nil`, the default, checks servers against
    ///     the certificate authorities of the system.
    ///   - redirectHandler: decides about redirects; `nil`, the default, follows them.
    ///   - cachedResponseHandler: decides what is stored in the cache; `nil`, the default, stores what RFC 9111 allows.
    ///   - eventMonitors: monitors of the session's events; by default one monitor that posts notifications.
    public init(
        session: URLSession, delegate: SessionDelegate, rootQueue: DispatchQueue,
        startRequestsImmediately: Bool = true, requestSetup: RequestSetup = .lazy, requestQueue: DispatchQueue? = nil,
        serializationQueue: DispatchQueue? = nil, interceptor: (any RequestInterceptor)? = nil,
        serverTrustManager: ServerTrustManager? = nil, redirectHandler: (any RedirectHandler)? = nil,
        cachedResponseHandler: (any CachedResponseHandler)? = nil,
        eventMonitors: [any EventMonitor] = [AlamofireNotifications()]
    ) {
        core = SessionCore(
            configuration: session.configuration,
            transport: .engine(TransportOptions(), session.configuration),
            arguments: SessionArguments(
                delegate: delegate, rootQueue: rootQueue, startRequestsImmediately: startRequestsImmediately,
                requestSetup: requestSetup, requestQueue: requestQueue, serializationQueue: serializationQueue,
                interceptor: interceptor, serverTrustManager: serverTrustManager, redirectHandler: redirectHandler,
                cachedResponseHandler: cachedResponseHandler, eventMonitors: eventMonitors, shownSession: session))
        core.attach(self)
    }

    /// Makes a session with a given transport: a scripted transport for tests, or another engine.
    ///
    /// Without a given configuration, cookies and stored responses stay in the memory of this session: a scripted
    /// session must not be answered with responses that another session or an earlier test run has stored.
    ///
    /// With a `serverTrustManager` and a transport without the ability `TransportAbilities.serverTrust`, every request
    /// fails with `AFError.sessionInvalidated(error:)`.
    ///
    /// - Parameters:
    ///   - transport: sends the messages; the session owns it from now on, and shuts it down at its own end.
    ///   - configuration: time-outs, header fields, cookies, cache, credential storage and protocol classes; copied.
    ///     The limit on connections and the proxies are the transport's own. `URLSessionConfiguration.af.ephemeral` by
    ///     default.
    ///   - delegate: provides the file manager for downloads. A subclass is notified of every task, and makes the
    ///     decisions that it overrides.
    ///   - rootQueue: where the session's own asynchronous work runs; must be serial.
    ///   - startRequestsImmediately: whether the first response handler resumes a request; true by default.
    ///   - requestSetup: when the `URLRequest` of a request is made; when the request is first resumed, by default.
    ///   - requestQueue: where requests are made and adapted; `nil`, the default, does it on the thread that resumes
    ///     them.
    ///   - serializationQueue: where response serialisers run; `nil`, the default, makes a queue.
    ///   - interceptor: adapts and retries every request, before the request's own interceptor.
    ///   - serverTrustManager: evaluates servers inside the TLS handshake; `nil`, the default, checks servers against
    ///     the certificate authorities of the transport's options.
    ///   - redirectHandler: decides about redirects; `nil`, the default, follows them.
    ///   - cachedResponseHandler: decides what is stored in the cache; `nil`, the default, stores what RFC 9111 allows.
    ///   - eventMonitors: monitors of the session's events; by default one monitor that posts notifications.
    ///   - options: stores, credentials from a file, limits.
    public init(
        transport: any Transport, configuration: URLSessionConfiguration = URLSessionConfiguration.af.ephemeral,
        delegate: SessionDelegate = SessionDelegate(),
        rootQueue: DispatchQueue = DispatchQueue(label: "org.alamofire.session.rootQueue"),
        startRequestsImmediately: Bool = true, requestSetup: RequestSetup = .lazy, requestQueue: DispatchQueue? = nil,
        serializationQueue: DispatchQueue? = nil, interceptor: (any RequestInterceptor)? = nil,
        serverTrustManager: ServerTrustManager? = nil, redirectHandler: (any RedirectHandler)? = nil,
        cachedResponseHandler: (any CachedResponseHandler)? = nil,
        eventMonitors: [any EventMonitor] = [AlamofireNotifications()], options: SessionOptions = SessionOptions()
    ) {
        core = SessionCore(
            configuration: configuration, transport: transport,
            arguments: SessionArguments(
                delegate: delegate, rootQueue: rootQueue, startRequestsImmediately: startRequestsImmediately,
                requestSetup: requestSetup, requestQueue: requestQueue, serializationQueue: serializationQueue,
                interceptor: interceptor, serverTrustManager: serverTrustManager, redirectHandler: redirectHandler,
                cachedResponseHandler: cachedResponseHandler, eventMonitors: eventMonitors, options: options))
        core.attach(self)
    }

    deinit {
        core.invalidate(.sessionDeinitialized)
    }

    // MARK: Data

    /// Makes a request with parameters from a dictionary.
    ///
    /// - Parameters:
    ///   - convertible: the URL.
    ///   - method: the method; `.get` by default.
    ///   - parameters: names and values; `nil`, the default, for none.
    ///   - encoding: puts the parameters into the query or the content.
    ///   - headers: fields of this request, which replace the session's fields of the same name.
    ///   - interceptor: adapts and retries this request, after the session's interceptor.
    ///   - shouldAutomaticallyResume: whether the first handler resumes the request; `nil`, the default, leaves that to
    ///     the session.
    ///   - requestModifier: changes the `URLRequest` before the parameters are encoded.
    /// - Returns: the request, which begins with its first handler or with `resume()`.
    @preconcurrency
    open func request(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, parameters: Parameters? = nil,
        encoding: any ParameterEncoding = URLEncoding.default, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DataRequest {
        let request = EncodedRequest(
            url: convertible, method: method, headers: headers,
            encode: EncodedRequest.encoding(parameters, by: encoding), modify: requestModifier)
        return self.request(request, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// Makes a request with parameters from an `Encodable` value.
    ///
    /// - Parameters:
    ///   - convertible: the URL.
    ///   - method: the method; `.get` by default.
    ///   - parameters: a value whose properties become names and values; `nil`, the default, for none.
    ///   - encoder: puts the parameters into the query or the content.
    ///   - headers: fields of this request, which replace the session's fields of the same name.
    ///   - interceptor: adapts and retries this request, after the session's interceptor.
    ///   - shouldAutomaticallyResume: whether the first handler resumes the request; `nil`, the default, leaves that to
    ///     the session.
    ///   - requestModifier: changes the `URLRequest` before the parameters are encoded.
    /// - Returns: the request, which begins with its first handler or with `resume()`.
    @preconcurrency
    open func request<Parameters: Encodable & Sendable>(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, parameters: Parameters? = nil,
        encoder: any ParameterEncoder = URLEncodedFormParameterEncoder.default, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DataRequest {
        let request = EncodedRequest(
            url: convertible, method: method, headers: headers,
            encode: EncodedRequest.encoding(parameters, by: encoder), modify: requestModifier)
        return self.request(request, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// Makes a request from any value that makes a `URLRequest`.
    ///
    /// - Parameters:
    ///   - convertible: makes the `URLRequest`.
    ///   - interceptor: adapts and retries this request, after the session's interceptor.
    ///   - shouldAutomaticallyResume: whether the first handler resumes the request; `nil`, the default, leaves that to
    ///     the session.
    /// - Returns: the request, which begins with its first handler or with `resume()`.
    open func request(
        _ convertible: any URLRequestConvertible, interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> DataRequest {
        begin(
            DataRequest(
                convertible: convertible, core: core, interceptor: interceptor,
                shouldAutomaticallyResume: shouldAutomaticallyResume))
    }

    // MARK: Streams

    /// Makes a request that delivers the content of its response piece by piece, as it comes.
    ///
    /// No content is kept in memory, except the first 64 KiB of a response with a status from 400 on
    /// (``DataStreamRequest/data``). A slow handler slows down reading from the network. Add handlers with
    /// `responseStream(on:stream:)` and similar methods, or read `streamTask()`, `content()`,
    /// `lines(automaticallyCancelling:maximumLineByteCount:)` or
    /// `serverSentEvents(reconnection:maximumEventByteCount:)`.
    ///
    /// - Parameters:
    ///   - convertible: makes the `URLRequest`.
    ///   - automaticallyCancelOnStreamError: whether a serialiser's failure cancels the request; false by default.
    ///   - interceptor: adapts and retries this request, after the session's interceptor.
    ///   - shouldAutomaticallyResume: whether the first handler resumes the request; `nil`, the default, leaves that to
    ///     the session.
    /// - Returns: the request, which begins with its first handler or with `resume()`.
    open func streamRequest(
        _ convertible: any URLRequestConvertible, automaticallyCancelOnStreamError: Bool = false,
        interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil
    ) -> DataStreamRequest {
        begin(
            DataStreamRequest(
                convertible: convertible, automaticallyCancelOnStreamError: automaticallyCancelOnStreamError,
                core: core,
                interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume))
    }

    /// Makes a request that delivers the content of its response piece by piece, as it comes.
    ///
    /// No content is kept in memory, except the first 64 KiB of a response with a status from 400 on
    /// (``DataStreamRequest/data``). A slow handler slows down reading from the network. Add handlers with
    /// `responseStream(on:stream:)` and similar methods, or read `streamTask()`, `content()`,
    /// `lines(automaticallyCancelling:maximumLineByteCount:)` or
    /// `serverSentEvents(reconnection:maximumEventByteCount:)`.
    ///
    /// - Parameters:
    ///   - convertible: the URL.
    ///   - method: the method; `.get` by default.
    ///   - headers: fields of this request, which replace the session's fields of the same name.
    ///   - automaticallyCancelOnStreamError: whether a serialiser's failure cancels the request; false by default.
    ///   - interceptor: adapts and retries this request, after the session's interceptor.
    ///   - shouldAutomaticallyResume: whether the first handler resumes the request; `nil`, the default, leaves that to
    ///     the session.
    ///   - requestModifier: changes the `URLRequest`.
    /// - Returns: the request, which begins with its first handler or with `resume()`.
    @preconcurrency
    open func streamRequest(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, headers: HTTPHeaders? = nil,
        automaticallyCancelOnStreamError: Bool = false, interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil, requestModifier: RequestModifier? = nil
    ) -> DataStreamRequest {
        let request = EncodedRequest(
            url: convertible, method: method, headers: headers, encode: nil, modify: requestModifier)
        return streamRequest(
            request, automaticallyCancelOnStreamError: automaticallyCancelOnStreamError, interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// Makes a request with `Encodable` parameters, which delivers the content of its response as it comes.
    ///
    /// - Parameters:
    ///   - convertible: the URL.
    ///   - method: the method; `.get` by default.
    ///   - parameters: a value whose properties become names and values; `nil`, the default, for none.
    ///   - encoder: puts the parameters into the query or the content.
    ///   - headers: fields of this request, which replace the session's fields of the same name.
    ///   - automaticallyCancelOnStreamError: whether a serialiser's failure cancels the request; false by default.
    ///   - interceptor: adapts and retries this request, after the session's interceptor.
    ///   - shouldAutomaticallyResume: whether the first handler resumes the request; `nil`, the default, leaves that to
    ///     the session.
    ///   - requestModifier: changes the `URLRequest` before the parameters are encoded.
    /// - Returns: the request, which begins with its first handler or with `resume()`.
    @preconcurrency
    open func streamRequest<Parameters: Encodable & Sendable>(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, parameters: Parameters? = nil,
        encoder: any ParameterEncoder = URLEncodedFormParameterEncoder.default, headers: HTTPHeaders? = nil,
        automaticallyCancelOnStreamError: Bool = false, interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil, requestModifier: RequestModifier? = nil
    ) -> DataStreamRequest {
        let request = EncodedRequest(
            url: convertible, method: method, headers: headers,
            encode: EncodedRequest.encoding(parameters, by: encoder), modify: requestModifier)
        return streamRequest(
            request, automaticallyCancelOnStreamError: automaticallyCancelOnStreamError, interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    // MARK: Downloads

    /// Makes a request that writes the content of its response to a file.
    ///
    /// The file is written while the content comes. A file that cannot be written fails the request with
    /// `AFError.sessionTaskFailed(error:)`, and a file that cannot be moved with
    /// `AFError.downloadedFileMoveFailed(error:source:destination:)`. The content of a refused response, such as 404,
    /// is in the file too, unless the destination has the option ``DownloadRequest/Options/waitForValidation``.
    ///
    /// - Parameters:
    ///   - convertible: makes the `URLRequest`.
    ///   - interceptor: adapts and retries this request, after the session's interceptor.
    ///   - shouldAutomaticallyResume: whether the first handler resumes the request; `nil`, the default, leaves that to
    ///     the session.
    ///   - destination: chooses the place of the complete file; `nil`, the default, leaves the file in a temporary
    ///     folder.
    /// - Returns: the request, which begins with its first handler or with `resume()`.
    @preconcurrency
    open func download(
        _ convertible: any URLRequestConvertible, interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil, to destination: DownloadRequest.Destination? = nil
    ) -> DownloadRequest {
        begin(
            DownloadRequest(
                downloadable: .request(convertible), destination: destination, core: core, interceptor: interceptor,
                shouldAutomaticallyResume: shouldAutomaticallyResume))
    }

    /// Makes a request with parameters from a dictionary, which writes the content of its response to a file.
    ///
    /// The file is written while the content comes. A file that cannot be written fails the request with
    /// `AFError.sessionTaskFailed(error:)`, and a file that cannot be moved with
    /// `AFError.downloadedFileMoveFailed(error:source:destination:)`. The content of a refused response, such as 404,
    /// is in the file too, unless the destination has the option ``DownloadRequest/Options/waitForValidation``.
    ///
    /// - Parameters:
    ///   - convertible: the URL.
    ///   - method: the method; `.get` by default.
    ///   - parameters: names and values; `nil`, the default, for none.
    ///   - encoding: puts the parameters into the query or the content.
    ///   - headers: fields of this request, which replace the session's fields of the same name.
    ///   - interceptor: adapts and retries this request, after the session's interceptor.
    ///   - shouldAutomaticallyResume: whether the first handler resumes the request; `nil`, the default, leaves that to
    ///     the session.
    ///   - requestModifier: changes the `URLRequest` before the parameters are encoded.
    ///   - destination: chooses the place of the complete file; `nil`, the default, leaves the file in a temporary
    ///     folder.
    /// - Returns: the request, which begins with its first handler or with `resume()`.
    @preconcurrency
    open func download(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, parameters: Parameters? = nil,
        encoding: any ParameterEncoding = URLEncoding.default, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil,
        requestModifier: RequestModifier? = nil, to destination: DownloadRequest.Destination? = nil
    ) -> DownloadRequest {
        let request = EncodedRequest(
            url: convertible, method: method, headers: headers,
            encode: EncodedRequest.encoding(parameters, by: encoding), modify: requestModifier)
        return download(
            request, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume, to: destination)
    }

    /// Makes a request with `Encodable` parameters, which writes the content of its response to a file.
    ///
    /// The file is written while the content comes. A file that cannot be written fails the request with
    /// `AFError.sessionTaskFailed(error:)`, and a file that cannot be moved with
    /// `AFError.downloadedFileMoveFailed(error:source:destination:)`. The content of a refused response, such as 404,
    /// is in the file too, unless the destination has the option ``DownloadRequest/Options/waitForValidation``.
    ///
    /// - Parameters:
    ///   - convertible: the URL.
    ///   - method: the method; `.get` by default.
    ///   - parameters: a value whose properties become names and values; `nil`, the default, for none.
    ///   - encoder: puts the parameters into the query or the content.
    ///   - headers: fields of this request, which replace the session's fields of the same name.
    ///   - interceptor: adapts and retries this request, after the session's interceptor.
    ///   - shouldAutomaticallyResume: whether the first handler resumes the request; `nil`, the default, leaves that to
    ///     the session.
    ///   - requestModifier: changes the `URLRequest` before the parameters are encoded.
    ///   - destination: chooses the place of the complete file; `nil`, the default, leaves the file in a temporary
    ///     folder.
    /// - Returns: the request, which begins with its first handler or with `resume()`.
    @preconcurrency
    open func download<Parameters: Encodable & Sendable>(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, parameters: Parameters? = nil,
        encoder: any ParameterEncoder = URLEncodedFormParameterEncoder.default, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil,
        requestModifier: RequestModifier? = nil, to destination: DownloadRequest.Destination? = nil
    ) -> DownloadRequest {
        let request = EncodedRequest(
            url: convertible, method: method, headers: headers,
            encode: EncodedRequest.encoding(parameters, by: encoder), modify: requestModifier)
        return download(
            request, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume, to: destination)
    }

    /// Makes a download that continues an earlier download, of this process or another.
    ///
    /// Only the rest is requested, if the server still has the same representation; otherwise the download starts
    /// again, and never mixes two representations. Adapters get the request like any other. `data` names a file to
    /// write to, so it must come from a trusted source: see ``ResumeData``. Unusable resume data fails the request with
    /// a ``ResumeError`` inside `AFError.createURLRequestFailed(error:)`.
    ///
    /// - Parameters:
    ///   - data: the resume data of the earlier download, see ``ResumeData``.
    ///   - interceptor: adapts and retries this request, after the session's interceptor.
    ///   - shouldAutomaticallyResume: whether the first handler resumes the request; `nil`, the default, leaves that to
    ///     the session.
    ///   - destination: chooses the place of the complete file; `nil`, the default, leaves the file in a temporary
    ///     folder.
    /// - Returns: the request, which begins with its first handler or with `resume()`.
    @preconcurrency
    open func download(
        resumingWith data: Data, interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil,
        to destination: DownloadRequest.Destination? = nil
    ) -> DownloadRequest {
        begin(
            DownloadRequest(
                downloadable: .resumeData(data), destination: destination, core: core, interceptor: interceptor,
                shouldAutomaticallyResume: shouldAutomaticallyResume))
    }

    // MARK: Uploads

    /// Uploads bytes from memory.
    ///
    /// The bytes are sent again after a redirect that keeps the method, an answer to a challenge and a retry.
    ///
    /// - Parameters:
    ///   - data: the content.
    ///   - convertible: the URL.
    ///   - method: the method; `.post` by default.
    ///   - headers: fields of this request, which replace the session's fields of the same name.
    ///   - interceptor: adapts and retries this request, after the session's interceptor.
    ///   - shouldAutomaticallyResume: whether the first handler resumes the request; `nil`, the default, leaves that to
    ///     the session.
    ///   - fileManager: returned by ``UploadRequest/fileManager``; sending does not use it.
    ///   - requestModifier: changes the `URLRequest`.
    /// - Returns: the request, which begins with its first handler or with `resume()`.
    @preconcurrency
    open func upload(
        _ data: Data, to convertible: any URLConvertible, method: HTTPMethod = .post, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil,
        fileManager: FileManager = .default, requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        let request = EncodedRequest(
            url: convertible, method: method, headers: headers, encode: nil, modify: requestModifier)
        return upload(
            data, with: request, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume,
            fileManager: fileManager)
    }

    /// Uploads bytes from memory.
    ///
    /// The bytes are sent again after a redirect that keeps the method, an answer to a challenge and a retry.
    ///
    /// - Parameters:
    ///   - data: the content.
    ///   - convertible: makes the `URLRequest`.
    ///   - interceptor: adapts and retries this request, after the session's interceptor.
    ///   - shouldAutomaticallyResume: whether the first handler resumes the request; `nil`, the default, leaves that to
    ///     the session.
    ///   - fileManager: returned by ``UploadRequest/fileManager``; sending does not use it.
    /// - Returns: the request, which begins with its first handler or with `resume()`.
    open func upload(
        _ data: Data, with convertible: any URLRequestConvertible, interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil, fileManager: FileManager = .default
    ) -> UploadRequest {
        upload(.data(data), convertible, interceptor, shouldAutomaticallyResume, fileManager)
    }

    /// Uploads a file, which is read while it is sent.
    ///
    /// A file that cannot be opened or read fails the request with `AFError.sessionTaskFailed(error:)`. The file is
    /// read again after a redirect that keeps the method, an answer to a challenge and a retry.
    ///
    /// - Parameters:
    ///   - fileURL: the file with the content; it must not change while it is sent.
    ///   - convertible: the URL.
    ///   - method: the method; `.post` by default.
    ///   - headers: fields of this request, which replace the session's fields of the same name.
    ///   - interceptor: adapts and retries this request, after the session's interceptor.
    ///   - shouldAutomaticallyResume: whether the first handler resumes the request; `nil`, the default, leaves that to
    ///     the session.
    ///   - fileManager: returned by ``UploadRequest/fileManager``; sending does not use it.
    ///   - requestModifier: changes the `URLRequest`.
    /// - Returns: the request, which begins with its first handler or with `resume()`.
    @preconcurrency
    open func upload(
        _ fileURL: URL, to convertible: any URLConvertible, method: HTTPMethod = .post, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil,
        fileManager: FileManager = .default, requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        let request = EncodedRequest(
            url: convertible, method: method, headers: headers, encode: nil, modify: requestModifier)
        return upload(
            fileURL, with: request, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume,
            fileManager: fileManager)
    }

    /// Uploads a file, which is read while it is sent.
    ///
    /// A file that cannot be opened or read fails the request with `AFError.sessionTaskFailed(error:)`. The file is
    /// read again after a redirect that keeps the method, an answer to a challenge and a retry.
    ///
    /// - Parameters:
    ///   - fileURL: the file with the content; it must not change while it is sent.
    ///   - convertible: makes the `URLRequest`.
    ///   - interceptor: adapts and retries this request, after the session's interceptor.
    ///   - shouldAutomaticallyResume: whether the first handler resumes the request; `nil`, the default, leaves that to
    ///     the session.
    ///   - fileManager: returned by ``UploadRequest/fileManager``; sending does not use it.
    /// - Returns: the request, which begins with its first handler or with `resume()`.
    open func upload(
        _ fileURL: URL, with convertible: any URLRequestConvertible, interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil, fileManager: FileManager = .default
    ) -> UploadRequest {
        upload(
            .file(fileURL, shouldRemove: false), convertible, interceptor, shouldAutomaticallyResume, fileManager)
    }

    /// Uploads the content of a stream, in chunks unless the request has a `Content-Length`.
    ///
    /// A redirect or an answer to a challenge that needs the content again fails the request with
    /// `AFError.sessionTaskFailed(error:)` around `URLError.requestBodyStreamExhausted`. The request is never retried:
    /// it ends with the error that would have caused the retry.
    ///
    /// - Parameters:
    ///   - stream: the content, which is read once while it is sent.
    ///   - convertible: the URL.
    ///   - method: the method; `.post` by default.
    ///   - headers: fields of this request, which replace the session's fields of the same name.
    ///   - interceptor: adapts and retries this request, after the session's interceptor.
    ///   - fileManager: returned by ``UploadRequest/fileManager``; sending does not use it.
    ///   - requestModifier: changes the `URLRequest`.
    /// - Returns: the request, which begins with its first handler or with `resume()`.
    @preconcurrency
    open func upload(
        _ stream: InputStream, to convertible: any URLConvertible, method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil, interceptor: (any RequestInterceptor)? = nil,
        fileManager: FileManager = .default, requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        let request = EncodedRequest(
            url: convertible, method: method, headers: headers, encode: nil, modify: requestModifier)
        return upload(stream, with: request, interceptor: interceptor, fileManager: fileManager)
    }

    /// Uploads the content of a stream, in chunks unless the request has a `Content-Length`.
    ///
    /// A redirect or an answer to a challenge that needs the content again fails the request with
    /// `AFError.sessionTaskFailed(error:)` around `URLError.requestBodyStreamExhausted`. The request is never retried:
    /// it ends with the error that would have caused the retry.
    ///
    /// - Parameters:
    ///   - stream: the content, which is read once while it is sent.
    ///   - convertible: makes the `URLRequest`.
    ///   - interceptor: adapts and retries this request, after the session's interceptor.
    ///   - shouldAutomaticallyResume: whether the first handler resumes the request; `nil`, the default, leaves that to
    ///     the session.
    ///   - fileManager: returned by ``UploadRequest/fileManager``; sending does not use it.
    /// - Returns: the request, which begins with its first handler or with `resume()`.
    open func upload(
        _ stream: InputStream, with convertible: any URLRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil, fileManager: FileManager = .default
    ) -> UploadRequest {
        upload(.stream(stream), convertible, interceptor, shouldAutomaticallyResume, fileManager)
    }

    private func upload(
        _ uploadable: UploadRequest.Uploadable, _ convertible: any URLRequestConvertible,
        _ interceptor: (any RequestInterceptor)?, _ shouldAutomaticallyResume: Bool?, _ fileManager: FileManager
    ) -> UploadRequest {
        begin(
            UploadRequest(
                UploadContent(uploadable, fileManager: fileManager), convertible: convertible, core: core,
                interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume))
    }

    // MARK: Forms

    /// Uploads a form: encoded in memory up to the threshold, otherwise read from its parts without a temporary file.
    ///
    /// A form that cannot be encoded, for instance because a file is missing, fails the request with
    /// `AFError.multipartEncodingFailed(reason:)`.
    ///
    /// - Parameters:
    ///   - multipartFormData: the form.
    ///   - url: the URL.
    ///   - encodingMemoryThreshold: a length in bytes, 10,000,000 by default; a longer form is read from its parts
    ///     while it is sent, instead of being encoded in memory.
    ///   - method: the method; `.post` by default.
    ///   - headers: fields of this request, which replace the session's fields of the same name.
    ///   - interceptor: adapts and retries this request, after the session's interceptor.
    ///   - shouldAutomaticallyResume: whether the first handler resumes the request; `nil`, the default, leaves that to
    ///     the session.
    ///   - fileManager: returned by ``UploadRequest/fileManager``; sending does not use it.
    ///   - requestModifier: changes the `URLRequest`.
    /// - Returns: the request, which begins with its first handler or with `resume()`.
    @preconcurrency
    open func upload(
        multipartFormData: MultipartFormData, to url: any URLConvertible,
        usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,
        method: HTTPMethod = .post, headers: HTTPHeaders? = nil, interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil, fileManager: FileManager = .default,
        requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        let request = EncodedRequest(url: url, method: method, headers: headers, encode: nil, modify: requestModifier)
        return upload(
            multipartFormData: multipartFormData, with: request, usingThreshold: encodingMemoryThreshold,
            interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume, fileManager: fileManager)
    }

    /// Uploads a form that a closure fills.
    ///
    /// A form that cannot be encoded, for instance because a file is missing, fails the request with
    /// `AFError.multipartEncodingFailed(reason:)`.
    ///
    /// - Parameters:
    ///   - multipartFormData: fills the form; called immediately, on the calling thread.
    ///   - url: the URL.
    ///   - encodingMemoryThreshold: a length in bytes, 10,000,000 by default; a longer form is read from its parts
    ///     while it is sent, instead of being encoded in memory.
    ///   - method: the method; `.post` by default.
    ///   - headers: fields of this request, which replace the session's fields of the same name.
    ///   - interceptor: adapts and retries this request, after the session's interceptor.
    ///   - fileManager: reads the attributes of the files in the form's parts.
    ///   - requestModifier: changes the `URLRequest`.
    /// - Returns: the request, which begins with its first handler or with `resume()`.
    @preconcurrency
    open func upload(
        multipartFormData: @escaping (MultipartFormData) -> Void, to url: any URLConvertible,
        usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,
        method: HTTPMethod = .post, headers: HTTPHeaders? = nil, interceptor: (any RequestInterceptor)? = nil,
        fileManager: FileManager = .default, requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        let form = MultipartFormData(fileManager: fileManager)
        multipartFormData(form)
        return upload(
            multipartFormData: form, to: url, usingThreshold: encodingMemoryThreshold, method: method, headers: headers,
            interceptor: interceptor, fileManager: fileManager, requestModifier: requestModifier)
    }

    /// Uploads a form that a closure fills.
    ///
    /// A form that cannot be encoded, for instance because a file is missing, fails the request with
    /// `AFError.multipartEncodingFailed(reason:)`.
    ///
    /// - Parameters:
    ///   - multipartFormData: fills the form; called immediately, on the calling thread.
    ///   - request: makes the `URLRequest`.
    ///   - encodingMemoryThreshold: a length in bytes, 10,000,000 by default; a longer form is read from its parts
    ///     while it is sent, instead of being encoded in memory.
    ///   - interceptor: adapts and retries this request, after the session's interceptor.
    ///   - fileManager: reads the attributes of the files in the form's parts.
    /// - Returns: the request, which begins with its first handler or with `resume()`.
    @preconcurrency
    open func upload(
        multipartFormData: @escaping (MultipartFormData) -> Void, with request: any URLRequestConvertible,
        usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,
        interceptor: (any RequestInterceptor)? = nil, fileManager: FileManager = .default
    ) -> UploadRequest {
        let form = MultipartFormData(fileManager: fileManager)
        multipartFormData(form)
        return upload(
            multipartFormData: form, with: request, usingThreshold: encodingMemoryThreshold, interceptor: interceptor,
            fileManager: fileManager)
    }

    /// Uploads a form: encoded in memory up to the threshold, otherwise read from its parts without a temporary file.
    ///
    /// A form that cannot be encoded, for instance because a file is missing, fails the request with
    /// `AFError.multipartEncodingFailed(reason:)`.
    ///
    /// - Parameters:
    ///   - multipartFormData: the form.
    ///   - request: makes the `URLRequest`.
    ///   - encodingMemoryThreshold: a length in bytes, 10,000,000 by default; a longer form is read from its parts
    ///     while it is sent, instead of being encoded in memory.
    ///   - interceptor: adapts and retries this request, after the session's interceptor.
    ///   - shouldAutomaticallyResume: whether the first handler resumes the request; `nil`, the default, leaves that to
    ///     the session.
    ///   - fileManager: returned by ``UploadRequest/fileManager``; sending does not use it.
    /// - Returns: the request, which begins with its first handler or with `resume()`.
    open func upload(
        multipartFormData: MultipartFormData, with request: any URLRequestConvertible,
        usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,
        interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil,
        fileManager: FileManager = .default
    ) -> UploadRequest {
        let form = UploadedForm(form: multipartFormData)
        return begin(
            UploadRequest(
                UploadContent(form, threshold: encodingMemoryThreshold, fileManager: fileManager),
                convertible: FormRequest(request: request, form: form), core: core, interceptor: interceptor,
                shouldAutomaticallyResume: shouldAutomaticallyResume))
    }

    // MARK: WebSockets

    /// Makes a request for a WebSocket; the URL is `ws`, `wss`, `http` or `https`.
    ///
    /// - Parameters:
    ///   - url: the URL.
    ///   - configuration: subprotocol, longest message, automatic pings and compression.
    ///   - headers: fields of the handshake, which replace the session's fields of the same name.
    ///   - interceptor: adapts and retries this request, after the session's interceptor.
    ///   - shouldAutomaticallyResume: whether the first handler resumes the request; `nil`, the default, leaves that to
    ///     the session.
    ///   - requestModifier: changes the `URLRequest`.
    /// - Returns: the request, which begins with its first handler or listener or with `resume()`.
    @preconcurrency
    open func webSocketRequest(
        to url: any URLConvertible, configuration: WebSocketRequest.Configuration = .default,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> WebSocketRequest {
        let request = EncodedRequest(url: url, method: .get, headers: headers, encode: nil, modify: requestModifier)
        return webSocketRequest(
            performing: request, configuration: configuration, interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// Makes a request for a WebSocket, with parameters from an `Encodable` value in its URL.
    ///
    /// - Parameters:
    ///   - url: the URL.
    ///   - configuration: subprotocol, longest message, automatic pings and compression.
    ///   - parameters: a value whose properties become names and values; `nil`, the default, for none.
    ///   - encoder: puts the parameters into the query; a handshake has no content.
    ///   - headers: fields of the handshake, which replace the session's fields of the same name.
    ///   - interceptor: adapts and retries this request, after the session's interceptor.
    ///   - shouldAutomaticallyResume: whether the first handler resumes the request; `nil`, the default, leaves that to
    ///     the session.
    ///   - requestModifier: changes the `URLRequest`.
    /// - Returns: the request, which begins with its first handler or listener or with `resume()`.
    @preconcurrency
    open func webSocketRequest<Parameters: Encodable & Sendable>(
        to url: any URLConvertible, configuration: WebSocketRequest.Configuration = .default,
        parameters: Parameters? = nil,
        encoder: any ParameterEncoder = URLEncodedFormParameterEncoder.default, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> WebSocketRequest {
        let request = EncodedRequest(
            url: url, method: .get, headers: headers, encode: EncodedRequest.encoding(parameters, by: encoder),
            modify: requestModifier)
        return webSocketRequest(
            performing: request, configuration: configuration, interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// Makes a request for a WebSocket from any value that makes a `URLRequest`; the method is always GET.
    ///
    /// - Parameters:
    ///   - convertible: makes the `URLRequest`.
    ///   - configuration: subprotocol, longest message, automatic pings and compression.
    ///   - interceptor: adapts and retries this request, after the session's interceptor.
    ///   - shouldAutomaticallyResume: whether the first handler resumes the request; `nil`, the default, leaves that to
    ///     the session.
    /// - Returns: the request, which begins with its first handler or listener or with `resume()`.
    open func webSocketRequest(
        performing convertible: any URLRequestConvertible, configuration: WebSocketRequest.Configuration = .default,
        interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil
    ) -> WebSocketRequest {
        begin(
            WebSocketRequest(
                convertible: convertible, configuration: configuration, core: core, interceptor: interceptor,
                shouldAutomaticallyResume: shouldAutomaticallyResume))
    }
}

/// The session behind the short form `AF.request(…)`.
///
/// Its cookies are in `AF.sessionConfiguration.httpCookieStorage`, in memory, and never in
/// `HTTPCookieStorage.shared`: a log-out deletes them there.
public let AF = Session.default
