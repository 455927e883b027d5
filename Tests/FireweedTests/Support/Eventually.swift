// Waiting for a condition that no event reports.

import FixtureServer
import Testing

/// Waits until a condition holds, such as that an object is gone; fails the test at the time-out.
///
/// For conditions that no event reports. The task sleeps between checks: a task that only yields would keep the thread
/// from other tests.
func eventually(
    _ condition: Comment, sourceLocation: SourceLocation = #_sourceLocation, _ holds: () -> Bool
) async {
    let deadline = ContinuousClock.now.advanced(by: TestTimeouts.limit)
    while !holds(), ContinuousClock.now < deadline { try? await Task.sleep(for: .milliseconds(1)) }
    #expect(holds(), condition, sourceLocation: sourceLocation)
}
