// The results as a table and as rows for JSON.

import Foundation

/// One row: a client in a scenario.
struct ReportRow: Codable {
    let scenario: String
    let client: String
    let requests_per_second: Double
    let cpu_us_per_request: Double
    let peak_rss_kib: Int
    let extra_rss_kib: Int
    /// The client's CPU time divided by that of the scenario's reference client, which is mostly libcurl.
    let ratio_to_libcurl_cpu: Double
    /// The client's requests per second divided by those of the reference client.
    let ratio_to_libcurl_rate: Double
    /// The number of threads of the process at the end of its work, the highest of all rounds.
    let threads: Int
    /// The highest CPU time of a round divided by the lowest.
    let spread: Double
}

/// Makes the rows of the report from measurements, and their text.
enum Report {
    static func rows(_ scenario: Scenario, _ rounds: [Client: [Measurement]]) -> [ReportRow] {
        scenario.clients.compactMap { client in
            guard let measured = rounds[client], !measured.isEmpty else { return nil }
            let reference = rounds[scenario.reference(of: client)]
            let cpu = measured.map(\.cpuMicroseconds)
            let rate = median(measured.map(\.requestsPerSecond))
            return ReportRow(
                scenario: scenario.name, client: client.rawValue, requests_per_second: rate,
                cpu_us_per_request: median(cpu), peak_rss_kib: measured.map(\.peakKibibytes).max() ?? 0,
                extra_rss_kib: measured.map(\.extraKibibytes).max() ?? 0,
                ratio_to_libcurl_cpu: reference.map { median(cpu) / median($0.map(\.cpuMicroseconds)) } ?? 0,
                ratio_to_libcurl_rate: reference.map { rate / median($0.map(\.requestsPerSecond)) } ?? 0,
                threads: measured.map(\.threads).max() ?? 0, spread: (cpu.max() ?? 0) / (cpu.min() ?? 1))
        }
    }

    /// The names of the columns of `lines(_:)`.
    static let head =
        "scenario       client                  requests/s   CPU µs/request  × CPU  × rate   peak MiB  extra MiB  threads  spread"

    static func lines(_ rows: [ReportRow]) -> [String] {
        rows.map { row in
            String(
                format: "%@%@%12.1f %16.1f %6.2f %7.2f %10.1f %10.1f %8d %7.2f", padded(row.scenario, 15),
                padded(row.client, 22), row.requests_per_second, row.cpu_us_per_request, row.ratio_to_libcurl_cpu,
                row.ratio_to_libcurl_rate, Double(row.peak_rss_kib) / 1024, Double(row.extra_rss_kib) / 1024,
                row.threads, row.spread)
        }
    }

    /// Returns a line with the CPU time of a request for each number of requests in flight; `nil` without measurements.
    static func growth(_ rows: [ReportRow]) -> String? {
        let measured = Scenario.growth.compactMap { window in
            rows.first { $0.scenario == "growth-\(window)" && $0.client == Client.fireweedData.rawValue }
                .map { String(format: "%d: %.1f", window, $0.cpu_us_per_request) }
        }
        return measured.isEmpty ? nil : "CPU µs/request by requests in flight: " + measured.joined(separator: ", ")
    }

    /// Returns a line with the median and the 99th percentile of request times during the work of another session.
    static func neighbour(_ work: NeighbourRound.Work, _ times: NeighbourRound.Times, idle: NeighbourRound.Times)
        -> String
    {
        String(
            format: "beside %@ of another session: median %.2f ms, p99 %.2f ms (× %.1f of idle, + %.1f ms)",
            padded(work.rawValue, 11), times.median, times.slowestHundredth,
            times.slowestHundredth / idle.slowestHundredth, times.slowestHundredth - idle.slowestHundredth)
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    private static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return 0 }
        return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
    }
}
