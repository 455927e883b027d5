// The rows of the table of curl's options.

import CommandLanguage
import Fireweed

/// One use of an option in a curl command.
struct CURLUse: Sendable {
    /// The option's name as written, for messages.
    let written: String
    /// Empty for an option without a value; bytes, because content need not be UTF-8.
    let value: [UInt8]
    /// False for `--no-NAME`.
    var isOn = true

    /// The value as text; throws `UsageError` if it is not UTF-8.
    var text: String {
        get throws {
            guard let text = String(validating: value, as: UTF8.self) else {
                throw UsageError(message: "the value of \(written) of the curl command is not UTF-8")
            }
            return text
        }
    }

    /// The value as a number, from 0; throws `UsageError`.
    var number: Int {
        get throws {
            guard let number = Int(try text), number >= 0 else { throw wrongValue() }
            return number
        }
    }

    /// Returns the error for an invalid value.
    func wrongValue(_ reason: String = "") -> UsageError {
        let shown = String(decoding: value, as: UTF8.self)
        let detail = reason.isEmpty ? "" : ": \(reason)"
        return UsageError(message: "\"\(shown)\" is not a value for \(written) of the curl command\(detail)")
    }
}

/// One of curl's options, and its effect here.
struct CURLRow: Sendable {
    /// Changes an invocation and its transfer.
    typealias Effect = @Sendable (inout Invocation, inout CURLTransfer, CURLUse) throws -> Void

    /// The long name, without the dashes.
    let name: String
    let letter: Character?
    let takesValue: Bool
    let effect: Effect

    /// An option with a value.
    static func value(_ name: String, _ letter: Character? = nil, _ effect: @escaping Effect) -> CURLRow {
        CURLRow(name: name, letter: letter, takesValue: true, effect: effect)
    }

    /// An option whose value is kept as text in the transfer.
    static func text(
        _ name: String, _ letter: Character? = nil, _ set: @escaping @Sendable (inout CURLTransfer, String) -> Void
    ) -> CURLRow {
        value(name, letter) { _, transfer, use in set(&transfer, try use.text) }
    }

    /// A switch; `--no-NAME` sets it to false.
    static func flag(
        _ name: String, _ letter: Character? = nil,
        _ set: @escaping @Sendable (inout Invocation, inout CURLTransfer, Bool) -> Void
    ) -> CURLRow {
        CURLRow(name: name, letter: letter, takesValue: false) { set(&$0, &$1, $2.isOn) }
    }

    /// An option that means the same as fireweed's option `ownName`.
    ///
    /// `change` converts curl's value to ours; if it returns `nil`, the option is ignored.
    static func own(
        _ name: String, _ letter: Character? = nil, _ ownName: String,
        _ change: @escaping @Sendable (String) -> String? = { $0 }
    ) -> CURLRow {
        value(name, letter) { invocation, _, use in
            guard let value = change(try use.text) else { return }
            do {
                for own in try OptionReader.read(["\(ownName)=\(value)"]).options { try own.apply(to: &invocation) }
            } catch {
                throw use.wrongValue()
            }
        }
    }

    /// Switches that change nothing that is sent or saved.
    static func ignored(_ names: [(String, Character?)]) -> [CURLRow] {
        names.map { flag($0.0, $0.1) { _, _, _ in } }
    }

    /// Options with a value that change nothing that is sent or saved.
    static func ignoredValues(_ names: [String]) -> [CURLRow] {
        names.map { value($0) { _, _, _ in } }
    }

    /// Returns the row with a long name; as in curl, an unambiguous prefix is enough.
    static func named(_ name: String) -> CURLRow? {
        if let exact = exactly(name) { return exact }
        let candidates = name.isEmpty ? [] : all.filter { $0.name.hasPrefix(name) }
        return candidates.count == 1 ? candidates[0] : nil
    }

    /// Returns the row with exactly this long name.
    static func exactly(_ name: String) -> CURLRow? { all.first { $0.name == name } }

    static func lettered(_ letter: Character) -> CURLRow? { all.first { $0.letter == letter } }
}
