// The order of a request's events, as `EventMonitor` documents it.

/// An event of a request's life.
enum LifeEvent: Sendable, Hashable {
    case initial, adapted, made, unmade, task, metrics, completed, retry, finish, parse
    case resume, resumeTask, suspend, suspendTask, cancel, cancelTask
}

/// The stage of a request's life, which its events determine.
enum LifeStage: Hashable {
    case new, initial, adapted, made, unmade, running, measured, completed, retrying, finished
}

/// The table of the events that may come at each stage.
enum EventOrder {
    /// Returns the problem with a request's events; `nil` if there is none.
    static func problem(_ events: [LifeEvent]) -> String? {
        var stage = LifeStage.new
        let shown = events.map { "\($0)" }.joined(separator: " ")
        for (index, event) in events.enumerated() {
            guard let next = next(stage, event) else {
                return "event \(event) at stage \(stage), number \(index) of: \(shown)"
            }
            stage = next
        }
        let counts = Dictionary(grouping: events, by: \.self).mapValues(\.count)
        let retries = counts[.retry, default: 0]
        if counts[.finish, default: 0] > retries + 1 { return "finished more often than it began: \(shown)" }
        if counts[.cancel, default: 0] > 1 { return "cancelled twice: \(shown)" }
        if counts[.completed, default: 0] > counts[.task, default: 0] {
            return "more tasks ended than began: \(shown)"
        }
        return stage == .finished ? nil : "the life ends at stage \(stage): \(shown)"
    }

    private static func next(_ stage: LifeStage, _ event: LifeEvent) -> LifeStage? {
        switch (stage, event) {
        case (_, .resume), (_, .suspend), (_, .cancel): stage  // the caller may do this at any time
        case (_, .resumeTask), (_, .suspendTask), (_, .cancelTask): stage
        case (.new, .initial), (.retrying, .initial): .initial
        case (.new, .unmade), (.retrying, .unmade), (.initial, .unmade): .unmade
        case (.initial, .adapted): .adapted
        case (.initial, .made), (.adapted, .made): .made
        case (.made, .task): .running
        case (.running, .metrics): .measured
        // A task that was cancelled before it began has no metrics.
        case (.running, .completed), (.measured, .completed): .completed
        case (.completed, .retry), (.unmade, .retry), (.finished, .retry): .retrying
        case (.completed, .finish), (.unmade, .finish): .finished
        // The request was cancelled, or its session ended, before it had a task.
        case (.new, .finish), (.initial, .finish), (.adapted, .finish), (.made, .finish), (.retrying, .finish):
            .finished
        case (.finished, .parse): .finished
        default: nil
        }
    }
}
