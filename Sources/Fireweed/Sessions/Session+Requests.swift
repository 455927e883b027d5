// Making requests.

public import Foundation
import FoundationNetworking

extension Session {
    // MARK: Data

    /// A request with parameters from a dictionary.
    ///
    /// - Parameters:
    ///   - convertible: the URL.
    ///   - method: the method; GET unless said otherwise.
    ///   - parameters: names and values; none by default.
    ///   - encoding: puts the parameters into query or content.
    ///   - headers: fields of this request, which win over the session's.
    ///   - interceptor: adapts and retries this request, before the session's.
    ///   - shouldAutomaticallyResume: whether the first handler resumes the request; `nil` leaves it to the session.
    ///   - requestModifier: changes the `URLRequest` before the parameters are encoded.
    public func request(
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

    /// A request with parameters from an `Encodable` value; the other parameters are as above.
    public func request<Parameters: Encodable & Sendable>(
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

    /// A request from anything that makes a `URLRequest`.
    public func request(
        _ convertible: any URLRequestConvertible, interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> DataRequest {
        begin(
            DataRequest(
                convertible: convertible, core: core, interceptor: interceptor,
                shouldAutomaticallyResume: shouldAutomaticallyResume))
    }

    // MARK: Streams

    /// A request whose content is handed on as it comes.
    ///
    /// - Parameter automaticallyCancelOnStreamError: whether a serialiser's failure ends the request.
    public func streamRequest(
        _ convertible: any URLRequestConvertible, automaticallyCancelOnStreamError: Bool = false,
        interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil
    ) -> DataStreamRequest {
        begin(
            DataStreamRequest(
                convertible: convertible, automaticallyCancelOnStreamError: automaticallyCancelOnStreamError,
                core: core,
                interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume))
    }

    /// A request whose content is handed on as it comes.
    public func streamRequest(
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

    /// A request with parameters from an `Encodable` value, whose content is handed on as it comes.
    public func streamRequest<Parameters: Encodable & Sendable>(
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

    /// A request whose content goes to a file.
    ///
    /// - Parameter destination: says where the file goes when it is complete; `nil` leaves it in a temporary place.
    public func download(
        _ convertible: any URLRequestConvertible, interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil, to destination: DownloadRequest.Destination? = nil
    ) -> DownloadRequest {
        begin(
            DownloadRequest(
                downloadable: .request(convertible), destination: destination, core: core, interceptor: interceptor,
                shouldAutomaticallyResume: shouldAutomaticallyResume))
    }

    /// A request with parameters from a dictionary, whose content goes to a file.
    public func download(
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

    /// A request with parameters from an `Encodable` value, whose content goes to a file.
    public func download<Parameters: Encodable & Sendable>(
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

    /// A download that goes on where an earlier one ended, in this process or another.
    ///
    /// The server is asked for the rest alone, if it still has the same representation; otherwise the download starts again, and never
    /// mixes two of them. Adapters see the request as they see others. `data` has to come from somebody who may name a file to write
    /// to: see `ResumeData`. What it cannot go on from fails with `ResumeError` inside `AFError.createURLRequestFailed(error:)`.
    public func download(
        resumingWith data: Data, interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil,
        to destination: DownloadRequest.Destination? = nil
    ) -> DownloadRequest {
        begin(
            DownloadRequest(
                downloadable: .resumeData(data), destination: destination, core: core, interceptor: interceptor,
                shouldAutomaticallyResume: shouldAutomaticallyResume))
    }

    // MARK: -

    /// Takes a new request in, and makes its `URLRequest` at once where the session wants that.
    func begin<Made: Request>(_ request: Made) -> Made {
        // A weak reference makes every later retain slower: only requests that may lie dormant get one.
        let beginsByItself = request.shouldAutomaticallyResume ?? core.startsImmediately
        if !beginsByItself { core.registry.add(request) }
        if core.requestSetup == .eager { request.handle(.makeEagerly) }
        return request
    }
}
