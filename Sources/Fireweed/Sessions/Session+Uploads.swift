// Making uploads.

public import Foundation
import FoundationNetworking

extension Session {
    /// Sends bytes in memory.
    public func upload(
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

    /// Sends bytes in memory.
    public func upload(
        _ data: Data, with convertible: any URLRequestConvertible, interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil, fileManager: FileManager = .default
    ) -> UploadRequest {
        upload(.data(data), convertible, interceptor, shouldAutomaticallyResume, fileManager)
    }

    /// Sends a file, which is read while it is sent.
    public func upload(
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

    /// Sends a file, which is read while it is sent.
    public func upload(
        _ fileURL: URL, with convertible: any URLRequestConvertible, interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil, fileManager: FileManager = .default
    ) -> UploadRequest {
        upload(
            .file(fileURL, shouldRemove: false), convertible, interceptor, shouldAutomaticallyResume, fileManager)
    }

    /// Sends what a stream gives, in chunks unless the request has a `Content-Length`.
    public func upload(
        _ stream: InputStream, to convertible: any URLConvertible, method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil,
        fileManager: FileManager = .default, requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        let request = EncodedRequest(
            url: convertible, method: method, headers: headers, encode: nil, modify: requestModifier)
        return upload(
            stream, with: request, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume,
            fileManager: fileManager)
    }

    /// Sends what a stream gives, in chunks unless the request has a `Content-Length`.
    public func upload(
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
                uploadable: uploadable, convertible: convertible, fileManager: fileManager, core: core,
                interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume))
    }

    // MARK: Forms

    /// Sends a form: from memory up to the threshold, else straight from its parts, without a temporary file.
    public func upload(
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

    /// Sends a form that a closure fills.
    public func upload(
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

    /// Sends a form that a closure fills.
    public func upload(
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

    /// Sends a form: from memory up to the threshold, else straight from its parts, without a temporary file.
    public func upload(
        multipartFormData: MultipartFormData, with request: any URLRequestConvertible,
        usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,
        interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil,
        fileManager: FileManager = .default
    ) -> UploadRequest {
        let isSmall = multipartFormData.contentLength < encodingMemoryThreshold
        let source = Result { isSmall ? .data(try multipartFormData.encode()) : try multipartFormData.source() }
        return begin(
            UploadRequest(
                form: source, shownAs: multipartFormData.shownContent,
                convertible: FormRequest(request: request, contentType: multipartFormData.contentType),
                fileManager: fileManager, core: core, interceptor: interceptor,
                shouldAutomaticallyResume: shouldAutomaticallyResume))
    }
}

/// A request with a form's content type.
private struct FormRequest: URLRequestConvertible {
    let request: any URLRequestConvertible
    let contentType: String

    func asURLRequest() throws -> URLRequest {
        var request = try request.asURLRequest()
        request.headers.add(.contentType(contentType))
        return request
    }
}
