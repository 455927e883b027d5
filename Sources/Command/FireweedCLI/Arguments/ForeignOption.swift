// Options of curl and HTTPie that are written differently here; pure.

/// Hints that name the replacement for an option of another command.
enum ForeignOption {
    /// Returns the hint for an option's name; `nil` for a name without a hint.
    static func hint(for name: String) -> String? { hints[name] }

    private static let hints: [String: String] = {
        let rows: [(names: [String], hint: String)] = [
            (["-H", "--header"], "a field is an item behind the URL: Name:value"),
            (["--user-agent"], "a field is an item behind the URL: User-Agent:value"),
            (["-e", "--referer"], "a field is an item behind the URL: Referer:value"),
            (["--cookie"], "a field is an item behind the URL: Cookie:name=value; --session keeps cookies"),
            (["--cookie-jar"], "--session keeps cookies"),
            (["--head"], "the method stands before the URL: fireweed HEAD URL"),
            (["--range"], "a part is asked for by an item behind the URL: Range:bytes=0-99"),
            (["--fail"], "a status of an error replaces no file, and --check-status makes it the exit code"),
            (["--max-redirs"], "--max-redirects N follows at most N redirects"),
            (["--proxy-user"], "user and password stand in the URL of --proxy"),
            (["--dump-header"], "--print h prints the head"),
            (["--basic", "--digest"], "--auth-type basic or digest chooses the scheme"),
            (["--config"], "options of every run stand in the configuration file"),
            (["-X", "--request"], "the method stands before the URL: fireweed PUT URL"),
            (["--data", "--data-raw", "--data-binary"], "content is field=text, --raw TEXT or --upload FILE"),
            (["--data-urlencode"], "--form makes a form of field=text"),
            (["-F"], "--form makes a form of field=text and field@file"),
            (["-T", "--upload-file"], "--upload sends a file"),
            (["-G", "--get"], "a parameter of the query is an item behind the URL: name==value"),
            (["-L", "--location"], "redirects are followed, unless --no-follow is given"),
            (["-i", "--include"], "--print hb prints head and content"),
            (["-s", "--silent"], "--quiet prints failures alone"),
            (["-u", "--user"], "--auth has user and password"),
            (["-O", "--remote-name", "-J", "--remote-header-name"], "--download names the file"),
            (["-Z"], "--parallel N runs N requests at a time"),
            (["-n", "--ignore-netrc"], "netrc is read with --netrc alone"),
            (["--compressed"], "compressed content is asked for and decoded without an option"),
            (["--path-as-is"], "a path is always sent as it is typed"),
            (["--format-options"], "--indent, --sorted and --unsorted change the format"),
        ]
        return Dictionary(uniqueKeysWithValues: rows.flatMap { row in row.names.map { ($0, row.hint) } })
    }()
}
