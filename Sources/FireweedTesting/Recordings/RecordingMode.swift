// Whether exchanges are replayed or recorded.

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
    /// - Precondition: the variable has one of the four values.
    public static var environment: RecordingMode {
        guard let text = ProcessInfo.processInfo.environment["FIREWEED_RECORDING"], !text.isEmpty else {
            return .replay
        }
        guard let mode = RecordingMode(rawValue: text) else {
            let names = allCases.map(\.rawValue).joined(separator: ", ")
            preconditionFailure("FIREWEED_RECORDING is \(text), and can be one of \(names)")
        }
        return mode
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
