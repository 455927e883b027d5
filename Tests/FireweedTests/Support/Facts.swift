// Waiting for what is true in the end.

import FixtureServer
import Testing

/// Waits until a fact holds that no event tells of, such as that an object is gone.
func eventually(
    _ what: Comment, sourceLocation: SourceLocation = #_sourceLocation, _ holds: () -> Bool
) async {
    let deadline = ContinuousClock.now.advanced(by: Patience.limit)
    // No event tells of it. A task that only yielded would keep a thread from the tests beside it.
    while !holds(), ContinuousClock.now < deadline { try? await Task.sleep(for: .milliseconds(1)) }
    #expect(holds(), what, sourceLocation: sourceLocation)
}
