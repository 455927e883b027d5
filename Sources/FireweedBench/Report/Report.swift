// The medians, as a table and as JSON.

import Foundation

/// One row: a client in a scenario.
struct ReportRow: Codable {
    let scenario: String
    let client: String
    let requests_per_second: Double
    let cpu_us_per_request: Double
    let peak_rss_kib: Int
    let extra_rss_kib: Int
    /// To libcurl's, or what else is the scenario's first client.
    let ratio_to_libcurl_cpu: Double
    /// Slowest round's CPU over the fastest one's.
    let spread: Double
}

/// Makes rows of measurements.
enum Report {
    static func rows(_ scenario: Scenario, _ rounds: [Client: [Measurement]]) -> [ReportRow] {
        let bare = rounds[scenario.reference].map { median($0.map(\.cpuMicroseconds)) }
        return scenario.clients.compactMap { client in
            guard let measured = rounds[client], !measured.isEmpty else { return nil }
            let cpu = measured.map(\.cpuMicroseconds)
            return ReportRow(
                scenario: scenario.name, client: client.rawValue,
                requests_per_second: median(measured.map(\.requestsPerSecond)), cpu_us_per_request: median(cpu),
                peak_rss_kib: measured.map(\.peakKibibytes).max() ?? 0,
                extra_rss_kib: measured.map(\.extraKibibytes).max() ?? 0,
                ratio_to_libcurl_cpu: bare.map { median(cpu) / $0 } ?? 0, spread: (cpu.max() ?? 0) / (cpu.min() ?? 1))
        }
    }

    static func table(_ rows: [ReportRow]) -> String {
        let head =
            "scenario      client              requests/s   CPU µs/request   peak MiB  extra MiB    × first   spread"
        return
            ([head]
            + rows.map { row in
                String(
                    format: "%@%@%12.1f %16.1f %10.1f %10.1f %10.2f %8.2f", padded(row.scenario, 14),
                    padded(row.client, 18),
                    row.requests_per_second, row.cpu_us_per_request, Double(row.peak_rss_kib) / 1024,
                    Double(row.extra_rss_kib) / 1024,
                    row.ratio_to_libcurl_cpu, row.spread)
            }).joined(separator: "\n")
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    private static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
    }
}
