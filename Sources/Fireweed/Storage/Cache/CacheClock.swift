// The clock of caches, for tests.

package import Foundation

/// Replaces the clock of new sessions' caches, so that tests can let hours pass.
package enum CacheClock {
    @TaskLocal package static var now: (@Sendable () -> Date)?
}
