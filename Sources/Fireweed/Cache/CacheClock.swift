// The time that caches go by.

package import Foundation

/// What the caches of new sessions take for the time, in place of their session's clock: tests let hours pass.
package enum CacheClock {
    @TaskLocal package static var now: (@Sendable () -> Date)?
}
