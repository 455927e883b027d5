// A chart of an exchange's phases.

import Foundation

/// Draws phases as bars, one below the other, each at its time; pure.
struct Waterfall {
    /// One phase, in seconds from the start.
    struct Phase: Equatable {
        let name: String
        let start: Double
        let end: Double
    }

    let phases: [Phase]

    func text(width: Int) -> String {
        let total = phases.map(\.end).max() ?? 0
        guard total > 0 else { return "" }
        let room = max(10, min(60, width - 26))
        return phases.map { phase in
            let first = Int(phase.start / total * Double(room))
            let last = max(first + 1, Int((phase.end / total * Double(room)).rounded()))
            let bar =
                String(repeating: " ", count: min(first, room - 1))
                + String(repeating: "█", count: min(last, room) - min(first, room - 1))
            let padded = bar + String(repeating: " ", count: max(0, room - bar.count))
            let name = phase.name + String(repeating: " ", count: max(0, 9 - phase.name.count))
            return "\(name) \(padded) \(String(format: "%8.1f ms", (phase.end - phase.start) * 1000))\n"
        }.joined()
    }
}
