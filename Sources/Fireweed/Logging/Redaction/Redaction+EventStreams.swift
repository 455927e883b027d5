// Secrets in server-sent events.

import Foundation

extension Redaction {
    /// Returns a stream of events without the secrets in their data (JSON, URLs and parameters); `nil` when it has no
    /// secrets.
    ///
    /// The `data` lines of an event are searched as one text. Data that begins like a JSON object and does not parse is
    /// removed, since it may be truncated.
    func eventStream(_ text: String) -> String? {
        let plain = text.replacingOccurrences(of: "\r\n", with: "\n").replacingOccurrences(of: "\r", with: "\n")
        var hasChanged = false
        var result: [Substring] = []
        /// The data of an event that has not ended, and the index of its first line in `result`.
        var event: (data: [Substring], start: Int)?
        func endEvent() {
            guard let found = event else { return }
            event = nil
            let data = found.data.joined(separator: "\n")
            guard let clean = cleanedEvent(data) else { return }
            hasChanged = true
            var isFirst = true
            let lines = clean.split(separator: "\n", omittingEmptySubsequences: false).map { "data: \($0)"[...] }
            let others = result[found.start...].flatMap { line -> [Substring] in
                guard Self.eventData(line) != nil else { return [line] }
                defer { isFirst = false }
                return isFirst ? lines : []
            }
            result.replaceSubrange(found.start..., with: others)
        }
        for line in plain.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.isEmpty {
                endEvent()
            } else if let data = Self.eventData(line) {
                event = event ?? ([], result.count)
                event?.data.append(data)
            }
            result.append(line)
        }
        endEvent()
        return hasChanged ? result.joined(separator: "\n") : nil
    }

    private func cleanedEvent(_ data: String) -> String? {
        if let clean = cleaned(data) { return clean }
        let isObject = data.unicodeScalars.first { !" \t\n".unicodeScalars.contains($0) } == "{"
        let isWhole = (try? JSONSerialization.jsonObject(with: Data(data.utf8))) != nil
        return isObject && !isWhole ? replacement : nil
    }

    /// The value of a `data` line; `nil` for another line.
    private static func eventData(_ line: Substring) -> Substring? {
        guard line.hasPrefix("data:") else { return line == "data" ? "" : nil }
        let value = line.dropFirst(5)
        return value.hasPrefix(" ") ? value.dropFirst() : value
    }
}
