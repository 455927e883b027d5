// The task of a resumed download, for code that makes its own.

public import Foundation
public import FoundationNetworking

extension DownloadRequest {
    /// Makes a task of `session` from resume data of Foundation's, as Alamofire does.
    ///
    /// Fireweed never calls it: downloads use its own transport, and Foundation cannot read its resume data (see
    /// ``ResumeData``). On Linux, Foundation cannot resume downloads: the task fails when it is resumed.
    public func task(forResumeData data: Data, using session: URLSession) -> URLSessionTask {
        session.downloadTask(withResumeData: data)
    }
}
