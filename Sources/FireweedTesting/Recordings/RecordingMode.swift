// The choice between replaying and recording.

import Foundation

/// Whether a session with a recording replays, records or only sends requests.
public enum RecordingMode: String, Sendable, Hashable, CaseIterable {
    /// Answers from the recording; other requests fail with ``UnmatchedRequestError``, and nothing is sent.
    case replay
    /// Answers from the recording; other requests are sent, and their exchanges are appended to the recording.
    case recordMissing = "record-missing"
    /// Sends every request, and replaces the recording by the new exchanges.
    case rerecord
    /// Sends every request, and records nothing.
    case passThrough = "pass-through"

    /// The mode whose raw value is in the environment variable `FIREWEED_RECORDING`; ``replay`` when it is unset or
    /// empty.
    ///
    /// `FIREWEED_RECORDING=rerecord swift test` renews every recording whose test does not choose a mode itself.
    ///
    /// An unknown value gives ``replay``, in which nothing is sent; `withRecording` and the trait `.recording` then
    /// throw a ``RecordingError``.
    public static var environment: RecordingMode { (try? ofEnvironment.get()) ?? .replay }

    /// The mode that `FIREWEED_RECORDING` names, or an error for an unknown value.
    static var ofEnvironment: Result<RecordingMode, RecordingError> {
        named(ProcessInfo.processInfo.environment["FIREWEED_RECORDING"] ?? "")
    }

    /// Returns the mode with this raw value; ``replay`` for an empty text.
    package static func named(_ text: String) -> Result<RecordingMode, RecordingError> {
        guard !text.isEmpty else { return .success(.replay) }
        if let mode = RecordingMode(rawValue: text) { return .success(mode) }
        let names = allCases.map(\.rawValue).joined(separator: ", ")
        return .failure(RecordingError("FIREWEED_RECORDING is \(text), and can be one of \(names)."))
    }
}

/// The rule by which a request finds its exchange in a recording.
public enum RecordingMatch: Sendable, Hashable, CaseIterable {
    /// By method, URL and content, anywhere in the recording.
    ///
    /// Several exchanges with the same request answer once each, in the order of the archive; the last one then
    /// repeats.
    case request
    /// By method and URL, with any content; for content that contains times or random numbers.
    case methodAndURL
    /// By position: the first request gets the first exchange, and must have the same method, URL and content.
    ///
    /// Every exchange answers once. For code that must send its requests in a certain order.
    case order
}
