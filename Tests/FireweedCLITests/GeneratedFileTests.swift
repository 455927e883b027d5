import CommandLanguage
import FixtureServer
import Foundation
import Testing

@testable import FireweedCLI

@Suite("The man page and the completions", .timeLimit(.minutes(TestTimeouts.minutes)))
struct GeneratedFileTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Runs a program to its end; what it printed on both streams.
    private func output(_ words: String...) throws -> String {
        let process = Process()
        let pipe = Pipe.closedOnExec()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = words
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = pipe
        process.standardError = pipe
        try process.start()
        let data = pipe.fileHandleForReading.contentToEnd()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
    }

    private func write(_ kind: GeneratedFile) throws -> String {
        let file = folder.file(kind.rawValue)
        try kind.text.write(to: file, atomically: true, encoding: .utf8)
        return file.path
    }

    /// The words of an example, without what a shell does behind the command.
    private static func words(of example: String) -> [String] {
        let command = example.firstRange(of: "fireweed ").map { example[$0.upperBound...] } ?? ""
        var words: [String] = [""]
        var isQuoted = false
        for character in command {
            if character == "'" {
                isQuoted.toggle()
            } else if isQuoted || character != " " {
                if !isQuoted, "|;>".contains(character) { break }
                words[words.count - 1].append(character)
            } else if words.last != "" {
                words.append("")
            }
        }
        return words.filter { !$0.isEmpty }
    }

    @Test(
        "every option has an example: a right command line that uses the option",
        arguments: Option.all.indices)
    func examples(index: Int) throws {
        let option = Option.all[index]
        let words = Self.words(of: option.example)
        _ = try ArgumentParser.parse(words)
        let used = try OptionReader.read(words).options
        #expect(used.contains { $0.option.names == option.names }, "\(option.example)")
    }

    @Test("the examples of the help are right command lines", arguments: HelpText.examples)
    func helpExamples(example: String) throws {
        _ = try ArgumentParser.parse(Self.words(of: example))
    }

    @Test("the man page has every option with its example, and groff has nothing to say against it")
    func manPage() throws {
        let file = try write(.man)
        #expect(try output("groff", "-man", "-ww", "-z", "-Tutf8", file) == "")
        let page = try output("groff", "-man", "-Tascii", "-P-c", "-P-b", "-P-u", "-rLL=400n", file)
        for option in Option.all {
            #expect(page.contains(option.heading) && page.contains(option.example), "\(option.heading)")
        }
    }

    /// What bash completes.
    private func completed(_ words: String..., breaks: String = "@=:") throws -> [String] {
        let line = words.map { "'\($0)'" }.joined(separator: " ")
        let script = """
            source '\(try write(.bash))'; COMP_WORDBREAKS=$' \\t\\n"\(breaks)'; COMP_WORDS=(fireweed \(line)); COMP_CWORD=\(words.count)
            COMP_LINE="fireweed \(words.joined(separator: " "))"; COMP_POINT=${#COMP_LINE}
            _fireweed; printf '%s\\n' "${COMPREPLY[@]}"
            """
        return try output("bash", "--norc", "-c", script).split(separator: "\n").map(String.init)
    }

    @Test("bash completes options, their values, subcommands and files")
    func bash() throws {
        #expect(try completed("--max-r") == ["--max-redirects"])
        #expect(try completed("ws", "--sub") == ["--subprotocol"])
        #expect(try completed("ws", "--down") == [])
        #expect(try completed("st") == ["status"])
        #expect(try completed("--pretty", "c") == ["colors"])
        #expect(try completed("--pretty", "=", "f") == ["format"])
        #expect(try completed("--help", "T") == ["TLS"])
        #expect(try completed("--cacert", "\(folder.url.path)/ba") == ["\(folder.url.path)/bash"])
    }

    @Test("bash completes the files of items, names of fields, and sessions")
    func bashItems() throws {
        let bash = try write(.bash)
        for item in ["f@", "f=@", "f:=@", "@", "Name:@"] {
            // readline takes "@" for the beginning of a word, unless bash-completion has changed that.
            #expect(try completed(":8080/", "\(item)\(folder.url.path)/ba") == ["@" + bash], "\(item)")
            let start = item == "f@" ? item : "@"
            let found = try completed(":8080/", "\(item)\(folder.url.path)/ba", breaks: "=:")
            #expect(found == [start + bash], "\(item)")
        }
        let spaced = folder.file("a b")
        try FileManager.default.createDirectory(at: spaced, withIntermediateDirectories: true)
        #expect(try completed(":8080/", "f@\(folder.url.path)/a") == ["@\(spaced.path)/"])
        #expect(try completed(":8080/", "Content-T") == ["Content-Type:"])
        #expect(try completed("ws", ":8080/", "User-") == ["User-Agent:"])
        #expect(try completed(":8080/", "a=User-") == [])
        let sessions = folder.file("config/fireweed/sessions")
        try FileManager.default.createDirectory(at: sessions, withIntermediateDirectories: true)
        for name in ["work", "walk", "other"] {
            try Data("{}".utf8).write(to: sessions.appending(path: "\(name).json"))
        }
        let script = """
            export XDG_CONFIG_HOME='\(folder.file("config").path)'; source '\(bash)'
            COMP_WORDS=(fireweed --session w); COMP_CWORD=2; _fireweed; printf '%s\\n' "${COMPREPLY[@]}"
            """
        #expect(try output("bash", "--norc", "-c", script).split(separator: "\n").sorted() == ["walk", "work"])
    }

    @Test("help is help, and a host of that name needs a path or a scheme")
    func helpWord() throws {
        #expect(try ArgumentParser.parse(["help"]).task == .help(topic: nil))
        #expect(try ArgumentParser.parse(["help", "ws"]).task == .help(topic: "ws"))
        #expect(try ArgumentParser.parse(["http://help"]).task == .request)
        #expect(try ArgumentParser.parse(["help/", "a==b"]).url == "https://help/")
        let result = try Command.run(["help"], in: folder.url)
        #expect(result.code == 0 && result.output == Data("\(Help.short)\n".utf8))
    }

    private static let hasZsh = FileManager.default.isExecutableFile(atPath: "/usr/bin/zsh")
    private static let hasFish = FileManager.default.isExecutableFile(atPath: "/usr/bin/fish")

    @Test("zsh reads its completions, which have every option", .enabled(if: hasZsh))
    func zsh() throws {
        let file = try write(.zsh)
        #expect(try output("zsh", "-n", file) == "")
        for name in Option.all.flatMap(\.names) {
            #expect(ZshCompletion.text.contains("'*\(name)"), "\(name)")
        }
    }

    @Test("fish completes options, their values and subcommands", .enabled(if: hasFish))
    func fish() throws {
        let file = try write(.fish)
        func completed(_ line: String) throws -> [String] {
            try output("fish", "--no-config", "-c", "source \(file); complete -C '\(line)'").split(
                separator: "\n"
            )
            .map { String($0.split(separator: "\t")[0]) }
        }
        #expect(try completed("fireweed --max-r") == ["--max-redirects"])
        #expect(try completed("fireweed ws --sub") == ["--subprotocol"])
        #expect(try completed("fireweed --pretty c") == ["colors"])
        #expect(try completed("fireweed stat").contains("status"))
    }

    @Test("--generate prints the files, and nothing else")
    func generate() throws {
        for kind in GeneratedFile.allCases {
            let result = try Command.run(["--generate", kind.rawValue], in: folder.url)
            #expect(result.output == Data(kind.text.utf8) && result.errors.isEmpty && result.code == 0)
        }
        #expect(try Command.run(["--generate", "nothing"], in: folder.url).code == 64)
    }
}
