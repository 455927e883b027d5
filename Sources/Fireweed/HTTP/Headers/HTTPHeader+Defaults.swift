// The three fields that every request has by default.

import Foundation
import Glibc

extension HTTPHeader {
    /// `Accept-Encoding` with Brotli, gzip and deflate; without Brotli where the package's trait `Brotli` is off.
    public static let defaultAcceptEncoding: HTTPHeader = {
        #if Brotli
        .acceptEncoding("br;q=1.0, gzip;q=0.9, deflate;q=0.8")
        #else
        .acceptEncoding("gzip;q=1.0, deflate;q=0.9")
        #endif
    }()

    /// `Accept-Language` with the first six of the user's languages, with decreasing weights; `*` without any.
    ///
    /// The languages come from the environment, as for gettext(3): first the languages in `LANGUAGE`, then the language
    /// of the first of `LC_ALL`, `LC_MESSAGES` and `LANG` that is set and not empty. The locales `C` and `POSIX` have
    /// no language, and ``HTTPHeaders/default`` then has no such field.
    public static let defaultAcceptLanguage = languageOfUser ?? .acceptLanguage("*")

    /// `Accept-Language` with the user's languages; `nil` without any.
    package static let languageOfUser = {
        let languages = PreferredLanguages.list { getenv($0).map { String(cString: $0) } }
        return languages.isEmpty ? nil : HTTPHeader.acceptLanguage(qualityList(languages.prefix(6)))
    }()

    /// `User-Agent` with the program, the system and this library.
    public static let defaultUserAgent: HTTPHeader = {
        let info = Bundle.main.infoDictionary
        let executable =
            info?["CFBundleExecutable"] as? String ?? ProcessInfo.processInfo.arguments.first.flatMap(fileName)
            ?? "Unknown"
        let bundle = info?["CFBundleIdentifier"] as? String ?? "Unknown"
        let version = info?["CFBundleShortVersionString"] as? String ?? "Unknown"
        let build = info?["CFBundleVersion"] as? String ?? "Unknown"
        let system = ProcessInfo.processInfo.operatingSystemVersion
        let systemText = "Linux \(system.majorVersion).\(system.minorVersion).\(system.patchVersion)"
        let library = "Fireweed/\(AFInfo.version)"
        let text = "\(executable)/\(version) (\(bundle); build:\(build); \(systemText)) \(library)"
        // A program's name may have any characters; a field value may not.
        return .userAgent(String(text.unicodeScalars.filter { (0x20...0x7E).contains($0.value) }.map(Character.init)))
    }()

    private static func fileName(_ path: String) -> String? {
        path.split(separator: "/").last.map(String.init)
    }

    private static func qualityList(_ languages: ArraySlice<String>) -> String {
        // There are at most six languages, so no weight is below 0.5. `joined` would cost a program 0.1 ms at its
        // start, since the runtime looks up the conformance that `joined` needs.
        languages.enumerated().reduce(into: "") { list, language in
            if !list.isEmpty { list += ", " }
            list += "\(language.element);q=\(language.offset == 0 ? "1.0" : "0.\(10 - language.offset)")"
        }
    }
}

/// Information about the library.
public enum AFInfo {
    /// The version of Fireweed.
    public static let version = "1.0.0"
}
