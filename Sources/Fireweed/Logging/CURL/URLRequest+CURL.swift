// A `curl` command as a request.

public import Foundation
public import FoundationNetworking

extension URLRequest {
    /// Makes the request that a `curl` command sends, such as a command from a browser's "Copy as cURL" or from API
    /// documents.
    ///
    /// The command is split into words like in a POSIX shell, with bash's `$'…'`; a prompt `$` before it is ignored.
    /// Syntax that needs a shell, such as variables, is an error. Supported options of curl: `-X`, `-H`, `-d`,
    /// `--data-ascii`, `--data-raw`, `--data-binary`, `--data-urlencode`, `--json`, `-G`, `-I`, `-F`, `--form-string`,
    /// `-T`, `-u` and `--oauth2-bearer` (as `Authorization`), `-b`, `-A`, `-e`, `-m` (as `timeoutInterval`), `--url`,
    /// `-g`, `--path-as-is`, `--`.
    ///
    /// These options have no effect, because a session decides about them or because they change curl's output: `-k`
    /// (servers are always checked), `-L`, `--max-redirs`, `--compressed`, `--basic`, `--http1.1`, `--http2`,
    /// `--connect-timeout`, `--limit-rate`, `--keepalive`, `--keepalive-time`, `--tcp-nodelay`, `-4`, `-6`, `-q`,
    /// `--retry`, `--retry-delay`, `--retry-max-time`, `-v`, `-s`, `-S`, `-i`, `-f`, `--fail-with-body`, `-N`,
    /// `--buffer`, `-#`, `--progress-meter`, `-o`, `-O`, `-J`, `--create-dirs`, `-w`, `-D`, `-c`, `--trace-time`; so
    /// have the `--no-` forms of those without a value. Any other option is an error, since the request would differ
    /// without it.
    ///
    /// The credentials of `-u`, or else of the URL, become an `Authorization` field, which is sent at once, as curl
    /// does. With `--anyauth` the credentials are in the URL: a session sends them only after a challenge.
    ///
    /// curl's own `User-Agent` and `Accept` are not added; the session adds its own fields when the request is sent. A
    /// form is encoded in memory.
    ///
    /// ```swift
    /// let request = try URLRequest(cURL: "curl https://example.com/users -d name=Ada")
    /// ```
    ///
    /// - Parameters:
    ///   - command: the command.
    ///   - folder: the folder of the files that options name (`-d @file`, `-F f=@file`); absolute paths may then be
    ///     read too. `nil`, the default, reads no file: parsing a command from elsewhere must not send local files.
    /// - Throws: ``CURLParsingError`` for the first unsupported part of the command.
    public init(cURL command: String, readingFilesIn folder: URL? = nil) throws {
        let arguments = try CURLArguments(CURLCommandLine(command).arguments)
        var builder = CURLRequestBuilder(files: CURLFiles(folder: folder))
        for argument in arguments.all { try builder.apply(argument) }
        self = try builder.request(of: arguments)
    }
}
