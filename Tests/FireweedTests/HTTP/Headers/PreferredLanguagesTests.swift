import Testing

@testable import Fireweed

@Suite("The user's languages")
struct PreferredLanguagesTests {
    @Test(
        "are those of the first variable that is set, behind those of LANGUAGE",
        arguments: [
            ([:], []), (["LANG": ""], []), (["LANG": "C"], []), (["LANG": "POSIX"], []), (["LANG": "C.UTF-8"], []),
            (["LC_ALL": "C.UTF-8", "LANG": "de_DE.UTF-8"], []), (["LC_MESSAGES": "C", "LANG": "de_DE"], []),
            (["LANG": "de_DE.UTF-8"], ["de-DE"]), (["LANG": "fr"], ["fr"]), (["LANG": "de_DE@euro"], ["de-DE"]),
            (["LANG": "sr_RS.UTF-8@latin"], ["sr-Latn-RS"]), (["LANG": "zh-Hant_TW"], ["zh-Hant-TW"]),
            (["LC_MESSAGES": "it_IT", "LANG": "de_DE"], ["it-IT"]),
            (["LC_ALL": "fr_FR", "LC_MESSAGES": "it_IT", "LANG": "de_DE"], ["fr-FR"]),
            (["LC_ALL": "", "LC_MESSAGES": "", "LANG": "de_DE"], ["de-DE"]),
            (["LC_CTYPE": "fr_FR", "LANG": "de_DE"], ["de-DE"]),  // the language of messages alone
            (["LANGUAGE": "nl:de_DE::en", "LANG": "de_DE"], ["nl", "de-DE", "en"]),
            (["LANGUAGE": "nl:en", "LANG": "de_DE"], ["nl", "en", "de-DE"]),
            (["LANGUAGE": "nl", "LANG": "C"], []), (["LANGUAGE": "nl"], []),
            (["LANGUAGE": "C:nl", "LANG": "fr"], ["nl", "fr"]),
            // What could forge a field, and what is no locale's name.
            (["LANG": "de\r\nX: y"], []), (["LANG": "/usr/share/locale/x"], []), (["LANG": "d"], []),
            (["LANG": "de_"], []), (["LANG": "de_DE,x;q=1"], []), (["LANG": "ä_DE"], []), (["LANG": "@latin"], []),
        ] as [([String: String], [String])])
    func languages(variables: [String: String], expected: [String]) {
        #expect(PreferredLanguages.list { variables[$0] } == expected)
    }

    @Test("a default session has no field for a user without languages")
    func absence() {
        #expect(HTTPHeaders.default["Accept-Language"] == HTTPHeader.languageOfUser?.value)
        #expect(HTTPHeader.defaultAcceptLanguage.value == HTTPHeader.languageOfUser?.value ?? "*")
    }
}
