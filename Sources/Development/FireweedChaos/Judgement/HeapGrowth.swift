// A check that memory does not grow from round to round.

import CAllocationCount

/// The bytes on the heap after each round; always 0 under a sanitizer.
struct HeapGrowth {
    private var sizes: [Int] = []
    /// The number of first rounds that do not count, since they make lasting objects and fill caches.
    private static let warmUp = 6
    private static let window = 8
    private static let allowance = 8 << 20

    /// Records the current size; returns a problem when the heap has grown.
    mutating func problem() -> String? {
        sizes.append(Int(fw_heap_byte_count()))
        guard sizes.count >= Self.warmUp + 2 * Self.window else { return nil }
        let first = sizes[Self.warmUp..<(Self.warmUp + Self.window)].min() ?? 0
        let last = sizes.suffix(Self.window).min() ?? 0
        guard last > first + Self.allowance else { return nil }
        return "the heap has grown from \(first) to \(last) bytes in \(sizes.count - Self.warmUp) rounds"
    }

    /// The size after the last round.
    var last: Int { sizes.last ?? 0 }
}
