import Foundation

/// Runs what the sources do against a server, and says what went otherwise than with Alamofire.
@main
enum Main {
    static func main() async {
        guard let server = CommandLine.arguments.dropFirst().first.flatMap(URL.init(string:)) else {
            print("usage: Run URL-OF-A-FIXTURE-SERVER")
            exit(64)
        }
        let report = Report()
        // What never comes is named instead of being waited for.
        DispatchQueue.global().asyncAfter(deadline: .now() + 100) {
            print("not in time: \(report.current)")
            exit(1)
        }
        await Checks(server: server, report: report).run()
        print("\(report.count) checks, \(report.failures.count) failed")
        report.failures.forEach { print("failed: \($0)") }
        exit(report.failures.isEmpty ? 0 : 1)
    }
}

/// What was checked.
final class Report: @unchecked Sendable {
    private let lock = NSLock()
    private var names: [String] = []
    private var failed: [String] = []

    var count: Int { lock.withLock { names.count } }
    var failures: [String] { lock.withLock { failed } }
    var current: String { lock.withLock { names.last ?? "" } }

    func begin(_ name: String) {
        lock.withLock { names.append(name) }
    }

    func expect(_ condition: Bool, _ detail: @autoclosure () -> String = "") {
        guard !condition else { return }
        let detail = detail()
        lock.withLock { failed.append("\(names.last ?? "") \(detail)") }
    }
}
