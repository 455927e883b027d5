// Statistics of this process, from /proc.

import Foundation

/// Memory and connections of this process at one moment.
struct ProcessStatistics {
    let residentKibibytes: Int
    private let remotePorts: [Int]

    init() {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        residentKibibytes = line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
        // Established connections of the machine, by their remote port in hexadecimal: only ours go to our server.
        // Foundation's `String(contentsOfFile:)` reads one page of a file of procfs.
        let data = (try? FileHandle(forReadingAtPath: "/proc/net/tcp")?.readToEnd()) ?? Data()
        let table = String(decoding: data, as: UTF8.self)
        remotePorts = table.split(separator: "\n").dropFirst().compactMap { row in
            let columns = row.split(separator: " ")
            guard columns.count > 3, columns[3] == "01" else { return nil }
            return Int(columns[2].suffix(4), radix: 16)
        }
    }

    func connections(to url: URL) -> Int {
        remotePorts.count { $0 == url.port }
    }
}
