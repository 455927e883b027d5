// One request of a list.

import CommandLanguage
import Fireweed
import FireweedFleet
import Foundation

/// Makes the requests of a run, over the connections of one session.
struct FetchExchange: Sendable {
    private let invocation: Invocation
    private let made: SessionMaker.Made
    /// Credentials of the command line, for every request without its own.
    private let givenAuthentication: Authentication?
    private let kept: SessionUse
    /// Names of fields that the command line removes from every request, in lower case.
    private let removedNames: Set<String>
    private let text: MessageText
    /// Whether files that are there are replaced: a killed run, which this one continues, may have left a file that has
    /// no record.
    var replacesFiles = false

    /// Makes the plan of the settings for every request, with a placeholder URL: each item has its own URL.
    ///
    /// Throws `UsageError`, and what reading files of the command line throws.
    static func plan(_ invocation: Invocation) throws -> RequestPlan {
        var invocation = invocation
        invocation.url = "http://localhost/"
        let plan = try RequestPlan(invocation)
        try RequestPlan.check(plan.headers)
        return plan
    }

    /// Makes the session; throws `UsageError`, and what reading files of the command line throws.
    ///
    /// With a fleet, all its runs share the rate limit and the cache.
    init(_ invocation: Invocation, plan: RequestPlan, fleet: Fleet?) throws {
        var invocation = invocation
        invocation.parallelCount = invocation.jobCount
        // Content that stays in memory until its record is written has a default limit; saved content has none.
        if invocation.saveFolder == nil, invocation.maximumContentLength == nil {
            invocation.maximumContentLength = 10 << 20
        }
        self.invocation = invocation
        givenAuthentication = try Authentication(invocation, askForPassword: Terminal.askForPassword)
        removedNames = Set(plan.removedHeaders.map { $0.lowercased() })
        text = MessageText(
            appearance: Appearance(invocation, isTerminal: Terminal.isError, allowsColours: Terminal.allowsColours))
        var kept = try SessionUse(invocation)
        let made = try SessionMaker.session(
            for: invocation, plan: plan, saved: kept.restored,
            interceptors: Self.limiter(invocation, fleet).map { [$0] } ?? [],
            sharedCache: invocation.usesCache ? fleet.map { FleetCache(fleet: $0) } : nil)
        kept.begin(with: made.cookies)
        (self.made, self.kept) = (made, kept)
    }

    var session: Session { made.session }

    /// Writes the session's file; returns the failure in words, `nil` on success.
    func keep() -> String? { kept.keep(made.cookies) }

    private static func limiter(_ invocation: Invocation, _ fleet: Fleet?) -> RateLimiter? {
        guard let interval = invocation.requestInterval else { return nil }
        let limit = RateLimit(1, per: interval)
        return fleet?.rateLimiter(limit, name: "fetch") ?? RateLimiter(limit)
    }

    /// Makes the request of an item.
    func record(of item: FetchItem) async -> FetchRecord {
        var record = FetchRecord(item)
        switch item.request {
        case .failure(let error): record.error = error.message
        case .success(let request):
            if invocation.saveFolder == nil {
                await fetch(request, &record)
            } else {
                await save(request, &record)
            }
        }
        return record
    }

    /// Returns the credentials of a request: those of its URL, else of the command line, else of the session.
    private func authentication(for request: FetchRequest) -> Authentication? {
        if let userInfo = request.userInfo { return Authentication(type: .basic, secret: userInfo) }
        return givenAuthentication ?? kept.saved.authentication(for: request.url)
    }

    private func headers(of request: FetchRequest, _ authentication: Authentication?) -> HTTPHeaders {
        guard authentication != nil || kept.restored != nil else { return request.headers }
        var headers = request.headers
        var own = removedNames.union(headers.map { $0.name.lowercased() })
        if request.userInfo != nil || givenAuthentication != nil { own.insert("authorization") }
        kept.addFields(for: request.url, to: &headers, unless: own)
        if let cookies = headers["Cookie"], kept.restored != nil {
            headers.update(name: "Cookie", value: kept.cookieField(cookies, for: request.url))
        }
        authentication?.addField(to: &headers)
        return headers
    }

    private func fetch(_ request: FetchRequest, _ record: inout FetchRecord) async {
        let authentication = authentication(for: request)
        let headers = headers(of: request, authentication)
        // An upload may have content with every method, GET among them.
        let task: DataRequest =
            if let content = request.content {
                session.upload(content, to: request.url, method: request.method, headers: headers)
            } else {
                session.request(request.url, method: request.method, headers: headers)
            }
        authentication?.apply(to: task)
        if invocation.retryCount > 0 { task.validate { [weak task, made] _, _, _ in made.validation(of: task) } }
        // The Swift task is never cancelled: a signal cancels the requests.
        let response = await task.serializingData(
            automaticallyCancelling: false, emptyResponseCodes: RequestRunner.everyStatus
        ).response
        note(task, response.context, response.error, for: request, &record)
        record.byteCount = response.data.map { Int64($0.count) }
        guard record.error == nil else { return }
        if let path = invocation.selection {
            record.select(path, from: response.data ?? Data())
        } else if !invocation.omitsContent {
            record.content = response.data
        }
        check(response.context, response.data, &record)
    }

    private func save(_ request: FetchRequest, _ record: inout FetchRecord) async {
        let file = file(of: record.item, request)
        // Symbolic links count too, whose targets may be missing.
        let isThere = (try? FileManager.default.attributesOfItem(atPath: file)) != nil
        guard replacesFiles || !isThere else {
            let reason = invocation.goesOn ? ", since this run has no records of it" : ""
            let advice = invocation.goesOn ? "" : ", or --continue"
            record.error = "\(file) is there already, and is not replaced\(reason); --save another folder\(advice)"
            return
        }
        let authentication = authentication(for: request)
        var message = URLRequest(url: request.url)
        message.method = request.method
        message.headers = headers(of: request, authentication)
        var options: DownloadRequest.Options = [.createIntermediateDirectories, .waitForValidation]
        if replacesFiles { options.insert(.removePreviousFile) }
        let task = session.download(message, uploading: request.content.map { .data($0) }) { [options] _, _ in
            (URL(fileURLWithPath: file), options)
        }
        authentication?.apply(to: task)
        if invocation.retryCount > 0 { task.validate { [weak task, made] _, _, _ in made.validation(of: task) } }
        task.staged(beside: URL(fileURLWithPath: file))
        let response = await task.serializingDownloadedFileURL().response
        note(task, response.context, response.error, for: request, &record)
        guard response.value != nil else { return }
        record.file = file
        record.byteCount = task.downloadProgress.completedUnitCount
        check(response.context, nil, &record)
    }

    /// Adds the expectations that a response does not meet to its record's error.
    private func check(_ response: any ResponseContext, _ content: Data?, _ record: inout FetchRecord) {
        guard !invocation.expectations.isEmpty else { return }
        let needsContent = invocation.expectations.contains(where: \.needsContent)
        let facts = Expectation.CheckedResponse(
            response,
            text: needsContent ? MessageText.text(content ?? Data(), type: record.contentType, charset: nil) : nil,
            seconds: record.seconds ?? 0)
        let failures = Expectation.failures(of: invocation.expectations, facts)
        if !failures.isEmpty { record.error = (failures + [record.error].compactMap(\.self)).joined(separator: "; ") }
    }

    private func note(
        _ task: Request, _ response: any ResponseContext, _ error: AFError?, for request: FetchRequest,
        _ record: inout FetchRecord
    ) {
        record.status = response.statusCode
        record.metrics = response.metrics
        record.seconds = task.secondsOfAllAttempts
        record.attemptCount = task.retryCount + 1
        record.contentType = response.responseField("Content-Type")
        if let url = response.responseURL, url != request.url { record.finalURL = url }
        if invocation.isVerbose, let metrics = record.metrics {
            let source = metrics.responseSource
            if source == .network || source == .revalidation {
                Terminal.tell(text.heads(of: metrics, omitting: removedNames))
            }
            if invocation.usesCache, !invocation.isQuiet { Terminal.tell("\(CacheFolder.note(of: metrics))") }
        }
        if let error, record.status == nil || !error.isResponseSerializationError {
            record.error = ErrorText(error, invocation, record.metrics).message
        }
    }

    /// Returns the file of an item, named by its number and the safe characters of the last component of the URL's
    /// path.
    private func file(of item: FetchItem, _ request: FetchRequest) -> String {
        let digits = String(item.index)
        let number = String(repeating: "0", count: max(0, 7 - digits.count)) + digits
        let name = request.url.lastPathComponent.unicodeScalars
            .filter { $0.isASCII && ($0.properties.isAlphabetic || "0123456789._-".unicodeScalars.contains($0)) }
        let suffix = name.isEmpty ? "" : "-" + String(String.UnicodeScalarView(name)).prefix(80)
        return ((invocation.saveFolder ?? ".") as NSString).appendingPathComponent(number + suffix)
    }
}
