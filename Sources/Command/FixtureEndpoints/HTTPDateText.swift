// Dates in header fields.

import CLinux
package import Foundation
import Glibc

/// Dates in the format of header fields (RFC 9110 §5.6.7).
package enum HTTPDateText {
    package static func text(of date: Date) -> String {
        var seconds = time_t(date.timeIntervalSince1970.rounded(.down))
        var time = tm()
        gmtime_r(&seconds, &time)
        var buffer = [CChar](repeating: 0, count: 64)
        // Names of days and months are English, since the program sets no locale.
        strftime(&buffer, buffer.count, "%a, %d %b %Y %H:%M:%S GMT", &time)
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
