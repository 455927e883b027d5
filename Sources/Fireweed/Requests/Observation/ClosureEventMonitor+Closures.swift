// The closures of a monitor.

import FireweedTransport
import Foundation
import FoundationNetworking

extension ClosureEventMonitor {
    /// The closures that are set.
    struct Closures: @unchecked Sendable {
        // SAFETY: closures are only called on the monitor's queue; code that sets a closure must make sure that its
        // captures are safe there, as with Alamofire.
        var sessionDidBecomeInvalidWithError: ((URLSession, (any Error)?) -> Void)?
        var taskWillPerformHTTPRedirection: ((URLSession, URLSessionTask, HTTPURLResponse, URLRequest) -> Void)?
        var taskDidReceiveChallenge: ((URLSession, URLSessionTask, URLAuthenticationChallenge) -> Void)?
        var taskNeedNewBodyStream: ((URLSession, URLSessionTask) -> Void)?
        var taskIsWaitingForConnectivity: ((URLSession, URLSessionTask) -> Void)?
        var taskDidSendBodyData: ((URLSession, URLSessionTask, Int64, Int64, Int64) -> Void)?
        var taskDidFinishCollectingMetrics: ((URLSession, URLSessionTask, TaskMetrics) -> Void)?
        var taskDidComplete: ((URLSession, URLSessionTask, (any Error)?) -> Void)?
        var dataTaskDidReceiveResponse: ((URLSession, URLSessionDataTask, URLResponse) -> Void)?
        var dataTaskWillCacheResponse: ((URLSession, URLSessionDataTask, CachedURLResponse) -> Void)?
        var dataTaskDidReceiveData: ((URLSession, URLSessionDataTask, Data) -> Void)?
        var downloadTaskDidFinishDownloadingToURL: ((URLSession, URLSessionDownloadTask, URL) -> Void)?
        var downloadTaskDidWriteData: ((URLSession, URLSessionDownloadTask, Int64, Int64, Int64) -> Void)?
        var downloadTaskDidResumeAtOffset: ((URLSession, URLSessionDownloadTask, Int64, Int64) -> Void)?
        var requestDidCreateInitialURLRequest: ((Request, URLRequest) -> Void)?
        var requestDidFailToCreateURLRequestWithError: ((Request, AFError) -> Void)?
        var requestDidAdaptInitialRequestToAdaptedRequest: ((Request, URLRequest, URLRequest) -> Void)?
        var requestDidFailToAdaptURLRequestWithError: ((Request, URLRequest, AFError) -> Void)?
        var requestDidCreateURLRequest: ((Request, URLRequest) -> Void)?
        var requestDidCreateTask: ((Request, URLSessionTask) -> Void)?
        var requestDidGatherMetrics: ((Request, TaskMetrics) -> Void)?
        var requestDidFailTaskEarlyWithError: ((Request, URLSessionTask, AFError) -> Void)?
        var requestDidCompleteTaskWithError: ((Request, URLSessionTask, AFError?) -> Void)?
        var requestIsWaitingForRateLimit: ((Request, Duration) -> Void)?
        var requestWasRefused: ((Request, OverloadError) -> Void)?
        var requestIsRetrying: ((Request) -> Void)?
        var requestDidFinish: ((Request) -> Void)?
        var requestDidResume: ((Request) -> Void)?
        var requestDidResumeTask: ((Request, URLSessionTask) -> Void)?
        var requestDidSuspend: ((Request) -> Void)?
        var requestDidSuspendTask: ((Request, URLSessionTask) -> Void)?
        var requestDidCancel: ((Request) -> Void)?
        var requestDidCancelTask: ((Request, URLSessionTask) -> Void)?
        var requestDidValidateRequestResponseDataWithResult:
            ((DataRequest, URLRequest?, HTTPURLResponse, Data?, Request.ValidationResult) -> Void)?
        var requestDidParseResponse: ((DataRequest, DataResponse<Data?, AFError>) -> Void)?
        var requestDidValidateRequestResponseWithResult:
            ((DataStreamRequest, URLRequest?, HTTPURLResponse, Request.ValidationResult) -> Void)?
        var requestDidCreateUploadable: ((UploadRequest, UploadRequest.Uploadable) -> Void)?
        var requestDidFailToCreateUploadableWithError: ((UploadRequest, AFError) -> Void)?
        var requestDidProvideInputStream: ((UploadRequest, InputStream) -> Void)?
        var requestDidFinishDownloadingUsingTaskWithResult:
            ((DownloadRequest, URLSessionTask, Result<URL, AFError>) -> Void)?
        var requestDidCreateDestinationURL: ((DownloadRequest, URL) -> Void)?
        var requestDidValidateRequestResponseFileURLWithResult:
            ((DownloadRequest, URLRequest?, HTTPURLResponse, URL?, Request.ValidationResult) -> Void)?
        var requestDidParseDownloadResponse: ((DownloadRequest, DownloadResponse<URL?, AFError>) -> Void)?
    }
}
