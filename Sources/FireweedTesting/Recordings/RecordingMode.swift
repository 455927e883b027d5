// The choice between replaying and recording.

import Foundation

/// The treatment of requests by a session with a recording.
public enum RecordingMode: String, Sendable, Hashable, CaseIterable {
    /// Answers from the recording; what is not in it fails with ``UnmatchedRequestError``, and nothing is sent.
    case replay
    /// Answers from the recording; what is not in it is sent, and recorded behind the rest.
    case recordMissing = "record-missing"
    /// Sends everything, and records it in place of what was there.
    case rerecord
    /// Sends everything, and records nothing.
    case passThrough = "pass-through"

    /// The mode that the environment variable `FIREWEED_RECORDING` names, by the raw values above; ``replay`` without
    /// it.
    ///
    /// `FIREWEED_RECORDING=rerecord swift test` renews every recording whose test does not choose a mode itself.
    ///
    /// Another value counts as ``replay``, in which nothing is sent; `withRecording` and the trait `.recording` throw
    /// a ``RecordingError`` then.
    public static var environment: RecordingMode { (try? ofEnvironment.get()) ?? .replay }

    /// The mode of the environment, or the error of a variable with another value.
    static var ofEnvironment: Result<RecordingMode, RecordingError> {
        named(ProcessInfo.processInfo.environment["FIREWEED_RECORDING"] ?? "")
    }

    /// The mode that a value of the variable names.
    package static func named(_ text: String) -> Result<RecordingMode, RecordingError> {
        guard !text.isEmpty else { return .success(.replay) }
        if let mode = RecordingMode(rawValue: text) { return .success(mode) }
        let names = allCases.map(\.rawValue).joined(separator: ", ")
        return .failure(RecordingError("FIREWEED_RECORDING is \(text), and can be one of \(names)."))
    }
}

/// The rule by which a request finds its exchange in a recording.
public enum RecordingMatch: Sendable, Hashable, CaseIterable {
    /// By method, URL and content, wherever it stands.
    ///
    /// Of several exchanges that are the same, each answers once, in the order of the archive; the last one answers
    /// from then on.
    case request
    /// By method and URL, whatever the content is; for content with times or random numbers in it.
    case methodAndURL
    /// By its place: the first request gets the first exchange, and has to have the same method, URL and content.
    ///
    /// Every exchange answers once. For code that has to ask in a certain order.
    case order
}
