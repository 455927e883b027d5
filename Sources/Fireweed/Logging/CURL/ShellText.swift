// Text and bytes as words of a POSIX shell.

package import Foundation

/// Quoting for the shell (POSIX.1-2017, Shell & Utilities §2.2), safe in a script and pasted at a prompt.
package enum ShellText {
    /// The text without quotes when it has no special characters, else quoted.
    package static func word(_ text: String) -> String {
        let isPlain =
            !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"):
                    true
                case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: ":"), UInt8(ascii: "/"),
                    UInt8(ascii: "@"), UInt8(ascii: "%"), UInt8(ascii: "+"), UInt8(ascii: "="), UInt8(ascii: ","):
                    true
                default: false
                }
            }
        return isPlain ? text : quoted(text)
    }

    /// The text in double quotes, or in single quotes if it has a `!`, which bash expands from its history at a prompt.
    ///
    /// Control characters, which a prompt would take as keys, are printed by `printf`. A NUL, which no argument can
    /// hold, ends the text.
    package static func quoted(_ text: String) -> String {
        let scalars = text.unicodeScalars.prefix { $0 != "\0" }
        return scalars.contains("!") ? inSingleQuotes(scalars) : "\"\(insideDoubleQuotes(scalars))\""
    }

    private static func insideDoubleQuotes(_ scalars: some Sequence<UnicodeScalar>) -> String {
        var text = ""
        for scalar in scalars {
            switch scalar {
            case "\\", "\"", "$", "`": text += "\\\(scalar)"
            case _ where isControl(scalar): text += "$(printf \(format(Data(String(scalar).utf8))))"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    private static func inSingleQuotes(_ scalars: some Sequence<UnicodeScalar>) -> String {
        var text = "'"
        for scalar in scalars {
            switch scalar {
            case "'": text += "'\\''"
            case _ where isControl(scalar): text += "'\"\(insideDoubleQuotes([scalar]))\"'"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "'"
    }

    /// True for characters that cannot be pasted: control characters except the line feed and the tab.
    static func isControl(_ scalar: UnicodeScalar) -> Bool {
        scalar.value < 0x20 && scalar != "\n" && scalar != "\t" || (0x7F...0x9F).contains(scalar.value)
    }

    /// The bytes as a format for `printf`, in single quotes: printable ASCII as it is, everything else in octal.
    package static func format(_ bytes: Data) -> String {
        var text: [UInt8] = [UInt8(ascii: "'")]
        text.reserveCapacity(bytes.count + 2)
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "\n"): text += Array("\\n".utf8)
            case UInt8(ascii: "\r"): text += Array("\\r".utf8)
            case UInt8(ascii: "%"): text += Array("%%".utf8)
            // A leading hyphen would begin an option.
            case UInt8(ascii: "-") where text.count > 1: text.append(byte)
            case UInt8(ascii: "'"), UInt8(ascii: "\\"), UInt8(ascii: "-"), 0..<0x20, 0x7F...:
                // An octal escape always has three digits here, so that a digit after the escape is not read as part of
                // it.
                text += [UInt8(ascii: "\\")] + [byte >> 6, byte >> 3 & 7, byte & 7].map { $0 + UInt8(ascii: "0") }
            default: text.append(byte)
            }
        }
        return String(decoding: text + [UInt8(ascii: "'")], as: UTF8.self)
    }
}
