// The arguments of a curl command.

/// One parsed argument.
struct CURLArgument: Equatable {
    /// The option as written, for error messages.
    let written: String
    let meaning: CURLMeaning
    /// Empty for an option without a value.
    let value: [UInt8]
}

/// Reads words as curl does: `-XPOST`, `-sS`, `--data x`, `--`; also `--data=x`, which some documents use although curl
/// rejects this form.
struct CURLArguments {
    private(set) var all: [CURLArgument] = []
    /// Whether brackets and braces in the URL are literal (`--globoff`).
    private(set) var takesURLLiterally = false
    /// Whether dot segments stay in the path (`--path-as-is`).
    private(set) var keepsPath = false

    init(_ words: [[UInt8]]) throws {
        var rest = words[...]
        var takesOptions = true
        while let word = rest.popFirst() {
            if takesOptions, word == Array("--".utf8) {
                takesOptions = false
            } else if takesOptions, word.starts(with: "--".utf8) {
                try long(word, &rest)
            } else if takesOptions, word.first == UInt8(ascii: "-"), word.count > 1 {
                try short(word, &rest)
            } else {
                all.append(CURLArgument(written: "", meaning: .url, value: word))
            }
        }
    }

    private mutating func long(_ word: [UInt8], _ rest: inout ArraySlice<[UInt8]>) throws {
        let text = String(decoding: word.dropFirst(2), as: UTF8.self)
        if let option = CURLOption.named(text) {
            return try add(option, written: "--\(text)", value: nil, &rest)
        }
        if text.hasPrefix("no-"), let option = CURLOption.named(text.dropFirst(3)), option.meaning == .ignored {
            return add(option, written: "--\(text)", value: [])
        }
        let name = String(text.prefix { $0 != "=" })
        guard let equals = word.firstIndex(of: UInt8(ascii: "=")), let option = CURLOption.named(name),
            option.meaning.takesValue
        else { throw CURLParsingError.unsupportedOption("--\(name)") }
        add(option, written: "--\(name)", value: Array(word[(equals + 1)...]))
    }

    private mutating func short(_ word: [UInt8], _ rest: inout ArraySlice<[UInt8]>) throws {
        var letters = word.dropFirst()
        while let byte = letters.popFirst() {
            let letter = Character(UnicodeScalar(byte))
            guard let option = CURLOption.lettered(letter) else {
                throw CURLParsingError.unsupportedOption("-\(letter)")
            }
            if option.meaning.takesValue {
                return try add(option, written: "-\(letter)", value: letters.isEmpty ? nil : Array(letters), &rest)
            }
            add(option, written: "-\(letter)", value: [])
        }
    }

    private mutating func add(
        _ option: CURLOption, written: String, value: [UInt8]?, _ rest: inout ArraySlice<[UInt8]>
    ) throws {
        guard option.meaning.takesValue else { return add(option, written: written, value: []) }
        guard let value = value ?? rest.popFirst() else { throw CURLParsingError.missingValue(option: written) }
        add(option, written: written, value: value)
    }

    private mutating func add(_ option: CURLOption, written: String, value: [UInt8]) {
        if option.name == "globoff" { takesURLLiterally = true }
        if option.name == "path-as-is" { keepsPath = true }
        all.append(CURLArgument(written: written, meaning: option.meaning, value: value))
    }
}
