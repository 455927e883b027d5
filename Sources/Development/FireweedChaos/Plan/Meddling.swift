// Actions on a request while it runs.

import FireweedTesting

/// An action on a request, and the moment when it happens.
struct Meddling: Sendable, CustomStringConvertible {
    enum Moment: Sendable, Equatable {
        /// This many microseconds after the request was prepared, from another thread.
        case after(Int)
        /// In the first call of a callback.
        case inCallback(Callback)
    }

    enum Callback: Sendable, CaseIterable {
        case urlRequest, task, head, progress, validation, element, handler
    }

    enum Action: Sendable, Equatable {
        /// Suspends the request, and resumes it from another thread after this many microseconds.
        case pause(Int)
        /// Suspends and resumes the request this many times.
        case bounce(Int)
        case resume
        case cancel
        /// Cancels a download with resume data; cancels any other request as `cancel` does.
        case cancelResumably
        /// Cancels the Swift task that awaits the response.
        case cancelTask
        case addHandler
        case cancelAllRequests
        case dropSession
        case invalidateSession
    }

    var moment: Moment
    var action: Action

    var description: String {
        switch moment {
        case .after(let delay): "\(action) after \(delay) µs"
        case .inCallback(let callback): "\(action) in \(callback)"
        }
    }

    static func random(_ random: inout SeededGenerator) -> Meddling {
        let moments: [Moment] =
            random.happens(55)
            ? [.after(random.choice(0, 30, 300, 1_000, 3_000, 10_000, 40_000))]
            : Callback.allCases.map { .inCallback($0) }
        let moment = moments[random.number(0...(moments.count - 1))]
        let pause = random.choice(0, 20, 200, 2_000, 20_000, 100_000)
        let action: Action =
            switch random.number(0...99) {
            case ..<35: .pause(pause)
            case ..<52: .bounce(random.number(1...6))
            case ..<60: .resume
            case ..<74: .cancel
            case ..<80: .cancelResumably
            case ..<86: .cancelTask
            case ..<97: .addHandler
            case 97: .cancelAllRequests
            case 98: .dropSession
            default: .invalidateSession
            }
        return Meddling(moment: moment, action: action)
    }

    /// Whether the action cancels this one request; `cancelAllRequests` cancels those of the whole session.
    var cancels: Bool {
        switch action {
        case .cancel, .cancelResumably, .cancelTask: true
        case .pause, .bounce, .resume, .addHandler, .cancelAllRequests, .dropSession, .invalidateSession: false
        }
    }
}
