// The fuzzing server of the Autobahn test suite.

public import Foundation

/// The cases of the Autobahn test suite, run by `kosoku` from PyPI, since the suite's own runner needs Python 2.
///
/// A testee asks `getCaseCount` how many cases there are, runs each (`runCase?case=N&agent=NAME`) by sending back every
/// message, and connects to `updateReports`. The server then writes its verdicts and ends.
public final class AutobahnServer: Sendable {
    /// The suite's verdict on one case.
    public struct Verdict: Decodable, Sendable {
        /// The verdict on the messages: `OK`, `NON-STRICT`, `INFORMATIONAL`, `UNIMPLEMENTED` or `FAILED`.
        public let behavior: String
        /// The verdict on the closing handshake: `OK`, `INFORMATIONAL`, `FAILED`, `WRONG CODE`, `UNCLEAN` or `FAILED BY
        /// CLIENT`.
        public let behaviorClose: String
    }

    /// Whether `kosoku` is installed, which `Scripts/make-python` does where PyPI can be reached.
    public static var isAvailable: Bool { PythonEnvironment.playsAutobahn }

    private let reservation: PortReservation
    private let folder: TemporaryFolder
    private let process: ChildProcess

    /// Starts a server for some cases: numbers, or patterns such as `12.*`.
    public init(_ included: [String]) throws {
        guard Self.isAvailable else { throw ServerError(description: "kosoku is missing: run Scripts/make-python") }
        reservation = try PortReservation()
        let port = reservation.number
        folder = try TemporaryFolder()
        let choice = included.flatMap { ["-i", $0] }
        let arguments = ["-m", "fuzzingserver", "-o", folder.url.path] + choice + ["127.0.0.1:\(port)"]
        process = try ChildProcess(
            PythonEnvironment.program, ["-c", "from kosoku._cli import main; main()"] + arguments, package: "python3")
        try ChildProcess.waitForPort(port)
    }

    /// The URL of a path.
    public func url(_ path: String) -> URL {
        URL(string: "ws://127.0.0.1:\(reservation.number)/\(path)") ?? URL(fileURLWithPath: "/")
    }

    /// The verdicts by case number; `nil` until the reports are written.
    public var verdicts: [String: Verdict]? {
        guard let data = try? Data(contentsOf: folder.file("index.json")) else { return nil }
        return (try? JSONDecoder().decode([String: [String: Verdict]].self, from: data))?.first?.value
    }
}
