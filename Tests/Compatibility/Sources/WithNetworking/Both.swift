import Alamofire
import Foundation
import FoundationNetworking

// A file that imports FoundationNetworking itself, as code does that was built on Linux before.

typealias Client = Alamofire.Session

func both(_ session: Client, _ request: URLRequest) async -> (URLSessionTask?, HTTPURLResponse?, URLSession) {
    let request = session.request(request).validate()
    let response = await request.serializingData().response
    return (request.task, response.response, session.session)
}

struct TaskMonitor: EventMonitor {
    func request(_ request: Request, didCreateTask task: URLSessionTask) {
        print(task.taskIdentifier)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        print(data.count, session.configuration.identifier ?? "")
    }
}

func trusted(_ trust: SecTrust, _ certificates: [SecCertificate], _ policy: SecPolicy) throws {
    try trust.af.setAnchorCertificates(certificates)
    try trust.af.evaluate(afterApplying: policy)
}
