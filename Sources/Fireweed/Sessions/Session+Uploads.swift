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
            data, with: request, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
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
            fileURL, with: request, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
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
            stream, with: request, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
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
}
