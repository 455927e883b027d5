// A process that is out of descriptors when it asks for the first time.

import Fireweed
import Foundation
import Glibc

/// Asks for a URL without a descriptor left, and again with all of them; prints a line for each.
struct Starvation {
    let url: String

    func run() async {
        // Dispatch opens a descriptor when the main thread hands over to it, and traps without one. It has done so when
        // the main queue runs something.
        await MainActor.run {}
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        var starved = limit
        starved.rlim_cur = 0
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &starved)
        let session = Session()
        await ask(session)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        await ask(session)
        await ask(Session())
    }

    private func ask(_ session: Session) async {
        let response = await session.request(url).serializingString().response
        let code = (response.error?.underlyingError as? URLError)?.code.rawValue
        print(response.value ?? "error \(code.map(String.init) ?? "\(response.result)")")
    }
}
