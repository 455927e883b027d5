// The condition of curl's `-z`.

import CLinux
import Fireweed
import Foundation
import FoundationNetworking
import Glibc

/// A date, or the modification time of a file, with which a server and curl compare a document's.
struct CURLTimeCondition: Sendable {
    let date: Date
    /// Whether older documents are asked for, and not newer ones.
    let asksForOlder: Bool

    /// Reads the value of `-z`; `nil` for a text that is neither a date nor a file.
    init?(_ text: String) {
        asksForOlder = text.hasPrefix("-")
        let word = Self.word(text)
        let date =
            CURLDate.date(of: word)
            ?? LocalFile.status(word).map { Date(timeIntervalSince1970: Double($0.st_mtim.tv_sec)) }
        guard let date else { return nil }
        self.date = date
    }

    /// The date or the name of a file, without the sign in front.
    static func word(_ text: String) -> String {
        text.first.map { "-+=".contains($0) } == true ? String(text.dropFirst()) : text
    }

    /// Whether a response has a document that was not asked for: servers may ignore the field or compare otherwise.
    ///
    /// As in curl, a response without `Last-Modified` is always wanted.
    func refuses(_ response: HTTPURLResponse) -> Bool {
        guard let field = response.value(forHTTPHeaderField: "Last-Modified"), let time = CURLDate.date(of: field)
        else {
            return false
        }
        return asksForOlder ? time >= date : time <= date
    }
}
