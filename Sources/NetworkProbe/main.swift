// Watches the network, or makes a request, inside the namespace that a test starts it in; says on standard output what
// happened.
//
// NetworkProbe watch [HOST]          a line for each status: nanoseconds since 1970, then the status
// NetworkProbe retry URL [SECONDS]   a request with an `OfflineRetrier` that waits so long; two minutes by default
// NetworkProbe wait URL [SECONDS]    a request of a session that waits for connectivity, so long in all

import Fireweed
import Foundation
import FoundationNetworking

func say(_ text: String) {
    let nanoseconds = UInt64(Date().timeIntervalSince1970 * 1e9)
    FileHandle.standardOutput.write(Data("\(nanoseconds) \(text)\n".utf8))
}

let arguments = Array(CommandLine.arguments.dropFirst())
let configuration = URLSessionConfiguration.af.ephemeral
let seconds = arguments.count > 2 ? Int(arguments[2]) ?? 0 : 120

switch (arguments.first, arguments.dropFirst().first) {
case ("watch", let host):
    let manager = host.map { NetworkReachabilityManager(host: $0) } ?? NetworkReachabilityManager()
    guard let manager else { exit(64) }
    for await status in manager.statuses() { say("\(status)") }
case ("retry", let url?):
    let monitor = ClosureEventMonitor()
    monitor.requestIsRetrying = { _ in say("retrying") }
    monitor.taskDidComplete = { _, _, error in say("attempt \((error as? URLError)?.code.rawValue ?? 0)") }
    let session = Session(
        configuration: configuration, interceptor: OfflineRetrier.offlineRetrier(maximumWait: .seconds(seconds)),
        eventMonitors: [monitor])
    say("started")
    let response = await session.request(url).serializingData().response
    say(response.error.map { "failed \(($0.underlyingError as? URLError)?.code.rawValue ?? 0)" } ?? "done")
case ("wait", let url?):
    configuration.timeoutIntervalForResource = TimeInterval(seconds)
    let monitor = ClosureEventMonitor(queue: DispatchQueue(label: "monitor"))
    monitor.taskIsWaitingForConnectivity = { _, _ in say("waiting") }
    let session = Session(configuration: configuration, eventMonitors: [monitor], waitsForConnectivity: true)
    say("started")
    let response = await session.request(url).serializingData().response
    say(response.error.map { "failed \(($0.underlyingError as? URLError)?.code.rawValue ?? 0)" } ?? "done")
default: exit(64)
}
