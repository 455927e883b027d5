import Foundation
import Testing

@testable import Fireweed

@Suite("Redaction")
struct RedactionTests {
    @Test(
        "names are compared by their parts",
        arguments: [
            ("accessToken", true), ("refreshToken", true), ("clientSecret", true), ("auth_token", true),
            ("user[password]", true), ("user%5Bpassword%5D", true), ("jwt", true), ("sid", true), ("private_key", true),
            ("otp", true), ("api-key", true), ("APIKey", true), ("APIKEY", true), ("X-CSRFToken", true),
            ("ACCESS_TOKEN", true), ("accesstoken", true), ("user.password", true), ("SAMLResponse", true),
            ("newPassword2", true), ("session_id", true), ("code", true), ("oauth[code]", true), ("key", true),
            ("country_code", false), ("status-code", false), ("sort_key", false), ("keyboard", false), ("page", false),
            ("ticket", true), ("serviceTicket", true), ("pat", true), ("state", true), ("Policy", true),
            ("Key-Pair-Id", true), ("Signature", true), ("path", false), ("pattern", false), ("statement", false),
            ("estate", false), ("real_estate", false), ("max_tokens", false), ("author", false), ("side", false),
            ("passenger", false), ("", false), ("[]", false),
        ])
    func names(name: String, isSecret: Bool) {
        #expect(Redaction.standard.isSecret(parameter: name) == isSecret)
    }

    @Test(
        "URLs lose their userinfo and the values of secret parameters, in query, fragment and path, and in URLs inside",
        arguments: [
            ("https://u:p@h/x?a=1", "https://h/x?a=1"),
            ("https://h/?Access_Token=s&b=2#f", "https://h/?Access_Token=[redacted]&b=2#f"),
            ("https://h/?api%5Fkey=s", "https://h/?api%5Fkey=[redacted]"), ("https://h/?token", "https://h/?token"),
            ("https://h/?password=", "https://h/?password=[redacted]"),
            ("/relative?code=s", "/relative?code=[redacted]"),
            ("https://h/#token=s", "https://h/#token=[redacted]"),
            ("https://h/#a=1&access_token=s&b=2", "https://h/#a=1&access_token=[redacted]&b=2"),
            ("https://h/#/done?id_token=s", "https://h/#/done?id_token=[redacted]"),
            ("https://h/?a=1;token=s;b=2", "https://h/?a=1;token=[redacted];b=2"),
            ("https://h/x;jsessionid=s?a=1", "https://h/x;jsessionid=[redacted]?a=1"),
            ("https://token.example/a=1?b=2", "https://token.example/a=1?b=2"),
            (
                "https://h/?to=https%3A%2F%2Fu:p@i%2F%3Fcode%3Ds&b=2",
                "https://h/?to=https%3A%2F%2Fi%2F%3Fcode%3D%5Bredacted%5D&b=2"
            ),
            ("https://h/?to=https://i/?token=s", "https://h/?to=https://i/?token=[redacted]"),
            ("https://h/?back=a%3D1%26token%3Ds", "https://h/?back=a%3D1%26token%3D%5Bredacted%5D"),
            (
                "https://h/?Policy=p&Signature=s&Key-Pair-Id=k",
                "https://h/?Policy=[redacted]&Signature=[redacted]&Key-Pair-Id=[redacted]"
            ),
            ("https://h/?a=%7B%22otp%22%3A1%7D", "https://h/?a=%7B%22otp%22%3A%22%5Bredacted%5D%22%7D"),
            ("https://h/?to=%252Fi%253Ftoken%253Ds", "https://h/?to=%252Fi%253Ftoken%253D%255Bredacted%255D"),
            ("https://h/?q=100%25&x=a%3Db", "https://h/?q=100%25&x=a%3Db"),
            ("https://h/reset-token/8f3a?a=1", "https://h/reset-token/[redacted]?a=1"),
            ("/token/abcdefghijklmnopqrstuvwxyz/users", "/token/[redacted]/users"),
            ("https://h/auth/login/7", "https://h/auth/login/7"), ("https://token/v1/a", "https://token/v1/a"),
            ("https://h/in/eyJhbGciOiJI.eyJzdWIiOiIx.c2ln", "https://h/in/[redacted]"),
            ("//u:p@h/x", "//h/x"), ("//u@h", "//h"), (" //u:p@h/x", " //h/x"), ("\\\\u:p@h/x", "\\\\h/x"),
            ("http:/u:p@h/x", "http:/h/x"), ("http:\\u:p@h", "http:\\h"), ("u:p@h:80/x?a=1", "h:80/x?a=1"),
            ("u:p@q@h/x", "h/x"), ("https://h/?via=u:p@i:80", "https://h/?via=i:80"),
            ("//u:p\u{0301}@\u{0301}h/x", "//\u{0301}h/x"),
            ("/a:b@c/d", "/a:b@c/d"), ("a/b:c@d", "a/b:c@d"), ("bob@example.com", "bob@example.com"),
            ("?q=re: bob@example.com", "?q=re: bob@example.com"), ("a:b@//c@d", "//d"), ("a:b@c:d@e/f", "e/f"),
            ("joe:s@h;token=%2F@x", "x"), ("http://h/?u=joe:s@h%26token=%2Fa@b", "http://h/?u=b"),
            ("http://h/?u=joe:s%2Fx@h/", "http://h/?u=h/"), ("http://h/?u=//s@h/", "http://h/?u=//h/"),
            ("http://h/?u=%3Aa@token=passwordtoken=", "http://h/?u=token%3D%5Bredacted%5D"),
            ("a:b@//c@\\d:e@f:g@h", "//\\h"), ("a:b@//c@a:b@//c@a:b@//c@h", "[redacted]"),
        ])
    func urls(text: String, expected: String) {
        let clean = Redaction.standard.text(ofURL: text)
        #expect(clean == expected)
        #expect(Redaction.standard.text(ofURL: clean) == clean)
    }

    @Test(
        "fields lose their secrets, and keep the scheme of credentials when it is known",
        arguments: [
            ("Authorization", "Basic dTpw", "Basic [redacted]"), ("authorization", "secret", "[redacted]"),
            ("Authorization", "my secret words", "[redacted]"),
            ("Authorization", "AWS4-HMAC-SHA256 s", "AWS4-HMAC-SHA256 [redacted]"),
            ("Cookie", "a=b", "[redacted]"), ("SET-COOKIE", "a=b", "[redacted]"), ("X-Api-Key", "k", "[redacted]"),
            ("Pin", "1", "[redacted]"), ("X-Code", "1", "[redacted]"), ("X-Session", "1", "[redacted]"),
            ("Content-Security-Policy", "default-src 'self'", "default-src 'self'"), ("X-Country-Code", "1", "1"),
            ("Location", "https://u:p@h/?code=1", "https://h/?code=[redacted]"), ("Accept", "*/*", "*/*"),
            ("Link", "<https://h/?token=s>; rel=next", "<https://h/?token=[redacted]; rel=next"),
            (
                "WWW-Authenticate", "Digest realm=\"a\", nonce=\"b\", qop=\"c\"",
                "Digest realm=\"a\", nonce=\"b\", qop=\"c\""
            ),
        ])
    func fields(name: String, value: String, expected: String) {
        #expect(Redaction.standard.value(value, ofField: name) == expected)
        #expect(["Location", "Link"].contains(name) || Redaction.none.value(value, ofField: name) == value)
    }

    @Test(
        "the fields that commonly hold secrets are known",
        arguments: [
            "Private-Token", "X-Vault-Token", "X-Session-Id", "X-Session-Token", "DPoP", "Sec-WebSocket-Protocol",
            "X-Forwarded-Access-Token", "Job-Token", "X-Auth-Token", "X-Auth-Key", "X-Access-Token", "X-Api-Secret",
            "X-Amz-Security-Token", "X-Amzn-Oidc-Accesstoken", "X-Amzn-Oidc-Data", "X-Goog-IAP-JWT-Assertion",
            "X-Shopify-Access-Token", "Ocp-Apim-Subscription-Key", "X-Functions-Key", "X-RapidAPI-Key",
            "X-Hub-Signature-256",
            "Stripe-Signature", "CF-Access-Client-Secret", "X-CSRF-Token", "X-XSRF-TOKEN", "Proxy-Authorization",
            "X-Authorization", "X-Goog-Api-Key", "Authentication-Info", "Set-Cookie2",
        ])
    func knownFields(name: String) {
        #expect(Redaction.standard.value("v", ofField: name) == "[redacted]")
    }

    @Test(
        "the fields that a redirect to another origin drops are secrets",
        arguments: TransportOptions.standardCredentialFieldNames)
    func credentialFields(name: String) {
        #expect(Redaction.standard.value("v", ofField: name) == "[redacted]")
    }

    private static let mark = "[redacted]"

    @Test(
        "content: forms, JSON and JSON Lines lose their secrets; what cannot be read is left out",
        arguments: [
            ("application/x-www-form-urlencoded", "user=u&password=p", "user=u&password=[redacted]"),
            ("application/x-www-form-urlencoded", "user[password]=p&a=1", "user[password]=[redacted]&a=1"),
            ("application/json", #"{"a":[{"Token":"s","zone":1}]}"#, #"{"a":[{"Token":"[redacted]","zone":1}]}"#),
            ("application/json", #"{"b": 1.50}"#, #"{"b": 1.50}"#), ("application/json", "{broken", mark),
            ("application/json", #"{"accessToken":"s","b":"#, mark),  // cut
            ("application/json", "{\n\"tokens\": [\n\"s\"\n", mark),  // cut, and a line that would parse alone
            ("application/json", "{\"a\":1}\n{\"otp\":2}", "{\"a\":1}\n{\"otp\":\"[redacted]\"}"),
            ("application/json", #"{"a":"{\"otp\":1}"}"#, #"{"a":"{\"otp\":\"[redacted]\"}"}"#),
            ("application/json", #"{"a":"{not json"}"#, #"{"a":"{not json"}"#),
            (
                "application/json", #"[{"name":"password","value":"s"},{"Field":"api_key","Value":[1]}]"#,
                #"[{"name":"password","value":"[redacted]"},{"Field":"api_key","Value":"[redacted]"}]"#
            ),
            ("application/json", #"[{"name":"zone","value":"s"}]"#, #"[{"name":"zone","value":"s"}]"#),
            ("application/x-www-form-urlencoded", "a=%7B%22otp%22%3A1%7D", "a=%7B%22otp%22%3A%22%5Bredacted%5D%22%7D"),
            ("application/problem+json", #"{"url":"https://h/?token=s"}"#, #"{"url":"https://h/?token=[redacted]"}"#),
            (
                "application/x-ndjson", "{\"a\":1}\n{\"jwt\":\"s\"}\n{\"jwt\":\"",
                "{\"a\":1}\n{\"jwt\":\"[redacted]\"}\n[redacted]"
            ),
            ("application/json-seq", "\u{1E}{\"jwt\":\"s\"}\n", "\n{\"jwt\":\"[redacted]\"}\n"),
            ("multipart/form-data; boundary=b", "--b\r\n\r\ns\r\n--b--", mark),
            ("text/plain", "password=p", mark), ("", "password=p", mark), ("image/svg+xml", "<token/>", "<token/>"),
            ("text/css", "a { color: red }", "a { color: red }"), ("image/png", "x", "x"), ("text/plain", "", ""),
        ])
    func content(type: String, text: String, expected: String) {
        let clean = Redaction.standard.content(Data(text.utf8), type: type)
        #expect(String(decoding: clean, as: UTF8.self) == expected)
        #expect(Redaction.none.content(Data(text.utf8), type: type) == Data(text.utf8))
    }

    @Test(
        "XML loses the text of secret elements and the values of secret attributes",
        arguments: [
            ("<token>s</token>", "<token>[redacted]</token>"), ("<a>\n <b>c &amp; d</b>\n</a>", nil),
            ("<?xml version=\"1.0\"?>\n<!DOCTYPE a>\n<a b='1'/>", nil),
            ("<w:Password Type=\"x\">s</w:Password>", "<w:Password Type=\"x\">[redacted]</w:Password>"),
            ("<a token = 's' b=\"c\" />", "<a token = '[redacted]' b=\"c\" />"),
            ("<secret><b>s</b> <c>t</c></secret>", "<secret><b>[redacted]</b> <c>[redacted]</c></secret>"),
            ("<p name=\"api_key\" value=\"s\"/>", "<p name=\"api_key\" value=\"[redacted]\"/>"),
            ("<p name=\"api_key\">s</p><q>t</q>", "<p name=\"api_key\">[redacted]</p><q>t</q>"),
            ("<token><![CDATA[s]]></token>", "<token><![CDATA[[redacted]]]></token>"),
            ("<a><![CDATA[<otp>s</otp>]]></a>", "<a><![CDATA[<otp>[redacted]</otp>]]></a>"),
            ("<a>&lt;otp&gt;s&lt;/otp&gt;</a>", "<a>&lt;otp&gt;[redacted]&lt;/otp&gt;</a>"),
            ("<a>https://h/?b=1&amp;token=s</a>", "<a>https://h/?b=1&amp;token=[redacted]</a>"),
            ("<a><!-- <otp>s</otp> --></a>", "<a><!--[redacted]--></a>"), ("<a><!-- words --></a>", nil),
            ("<x:a xmlns:x=\"u\" xmlns:token=\"v\"/>", nil), ("<a>s", mark), ("<a><token", mark), ("<a b=c/>", mark),
            ("<!DOCTYPE a [<!ENTITY token \"s\">]><a>&token;</a>", mark),
        ])
    func xml(text: String, expected: String?) {
        let clean = Redaction.standard.content(Data(text.utf8), type: "application/soap+xml; charset=utf-8")
        #expect(String(decoding: clean, as: UTF8.self) == expected ?? text)
        #expect(Redaction.none.content(Data(text.utf8), type: "text/xml") == Data(text.utf8))
    }

    @Test(
        "server-sent events lose the secrets in their data",
        arguments: [
            ("data: {\"otp\":1}\n\n", "data: {\"otp\":\"[redacted]\"}\n\n"), ("event: token\ndata: word\n\n", nil),
            (
                "id: 1\r\ndata: {\r\ndata: \"jwt\":\"s\"}\r\nid: 2\r\n\r\n",
                "id: 1\ndata: {\"jwt\":\"[redacted]\"}\nid: 2\n\n"
            ),
            ("data:a\n\ndata: https://h/?token=s\n\n", "data:a\n\ndata: https://h/?token=[redacted]\n\n"),
            ("data: {\"jwt\":\"s", "data: [redacted]"), ("data: [DONE]\n\n", nil), (": {\n\ndata\n\n", nil),
        ])
    func events(text: String, expected: String?) {
        let clean = Redaction.standard.content(Data(text.utf8), type: "text/event-stream")
        #expect(String(decoding: clean, as: UTF8.self) == expected ?? text)
    }

    @Test("names that are set later count, and whole names do not match a part of a longer one")
    func changed() {
        var redaction = Redaction(fieldNames: [], parameterNames: [], wholeParameterNames: ["Tax"])
        #expect(
            redaction.text(ofURL: "/?tax=1&tax_code=2&maiden_name=3") == "/?tax=[redacted]&tax_code=2&maiden_name=3")
        redaction.parameterNames = ["maiden"]
        redaction.wholeParameterNames = []
        #expect(redaction.text(ofURL: "/?tax=1&maidenName=3") == "/?tax=1&maidenName=[redacted]")
    }
}
