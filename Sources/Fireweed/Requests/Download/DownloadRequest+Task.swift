// The task of a resumed download, for code that makes such tasks itself.

public import Foundation
public import FoundationNetworking

extension DownloadRequest {
    /// Makes a task of `session` from Foundation's resume data, as Alamofire does.
    ///
    /// Fireweed never calls this method: downloads use Fireweed's transport, and Foundation cannot read Fireweed's
    /// resume data (see ``ResumeData``). On Linux, Foundation cannot resume downloads: the task fails when it is
    /// resumed.
    public func task(forResumeData data: Data, using session: URLSession) -> URLSessionTask {
        session.downloadTask(withResumeData: data)
    }
}
