// The progress bar of a download or an upload.

import Foundation

/// Draws progress as one line; pure.
struct ProgressBar {
    let completed: Int64
    let total: Int64?
    let elapsed: Double
    /// Bytes that existed before the clock started, as in a resumed download; the rate leaves them out.
    var base: Int64 = 0

    func text(width: Int) -> String {
        let rate = elapsed > 0 ? Double(completed - base) / elapsed : 0
        var tail = " \(Self.size(completed))"
        if let total { tail += " of \(Self.size(total))" }
        tail += "  \(Self.size(Int64(min(rate, 1e18))))/s"
        if let total, total > completed, rate > 0 { tail += "  \(Self.time(Double(total - completed) / rate)) left" }
        guard let total, total > 0 else { return String(tail.dropFirst().prefix(width)) }
        let room = max(0, min(40, width - tail.count - 8))
        let part = min(1, Double(completed) / Double(total))
        let filled = Int(part * Double(room))
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: room - filled)
        return String("\(bar) \(Int(part * 100))%\(tail)".prefix(width))
    }

    static func size(_ count: Int64) -> String {
        var value = Double(count)
        for unit in ["B", "KiB", "MiB", "GiB"] {
            if value < 1024 || unit == "GiB" {
                return unit == "B" ? "\(count) B" : String(format: "%.1f \(unit)", value)
            }
            value /= 1024
        }
        return "\(count) B"
    }

    static func time(_ seconds: Double) -> String {
        let whole = Int(min(seconds.rounded(.up), 359_999))
        return whole < 60
            ? "\(whole)s" : whole < 3600 ? "\(whole / 60)m \(whole % 60)s" : "\(whole / 3600)h \(whole % 3600 / 60)m"
    }
}
