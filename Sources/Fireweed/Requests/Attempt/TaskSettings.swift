// Settings of a task.

import Foundation
import FoundationNetworking
import Synchronization

/// The settable members of a task, stored in the attempt: it holds its task weakly, and makes the task again when
/// needed.
final class TaskSettings: Sendable {
    struct Values {
        var description: String?
        var priority = URLSessionTask.defaultPriority
        var earliestBeginDate: Date?
        var expectedToSend: Int64 = -1
        var expectedToReceive: Int64 = -1
    }

    let values = Mutex(Values())
}

extension Attempt {
    /// The settings of the attempt's tasks, made at the first use.
    var taskSettings: TaskSettings {
        state.withLock { state in
            let settings = state.task.settings ?? TaskSettings()
            state.task.settings = settings
            return settings
        }
    }
}
