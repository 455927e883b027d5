// The comparison of an outcome with the plan of its operation.

import Fireweed
import Foundation

/// Compares outcomes with what the plan of the round allows for each operation.
struct Judge: Sendable {
    let plan: RoundPlan

    /// Returns the problems with an outcome; empty if there are none.
    func problems(with outcome: Outcome, of operation: Operation) -> [String] {
        var problems: [String] = []
        if let url = outcome.url, !names(url, operation) { problems.append("a response of another URL: \(url)") }
        if let error = outcome.error {
            if !allows(error, of: operation) { problems.append("an error that does not fit: \(error)") }
        } else {
            problems += problemsOfSuccess(outcome, operation)
        }
        return problems
    }

    private func names(_ url: URL, _ operation: Operation) -> Bool {
        let query = url.query ?? ""
        return query.contains("id=\(operation.target.id)&count=\(operation.target.byteCount)")
    }

    // MARK: Successes

    private func problemsOfSuccess(_ outcome: Outcome, _ operation: Operation) -> [String] {
        guard let status = outcome.status else { return ["a success without a response"] }
        if case .hostile(let act) = operation.target.server, !act.mayAnswer {
            return ["a success of a server that never answers well"]
        }
        let contents = contents(for: status, of: operation)
        if contents.isEmpty { return ["a success with status \(status)"] }
        if outcome.isValidated, !(200...299).contains(status) { return ["status \(status) was accepted"] }
        guard let content = outcome.content else { return [] }
        if contents.contains(content) { return [] }
        return ["wrong content: \(Self.difference(content, contents[0]))"]
    }

    /// Returns the contents that a success with this status may have; empty if this status must not be a success.
    func contents(for status: Int, of operation: Operation) -> [Data] {
        let target = operation.target
        if case .socket = target.server { return status == 101 ? [Data()] : [] }
        if case .events = operation.kind { return status == 200 || status == 204 ? [Data()] : [] }
        var contents: [Data] = []
        if status == target.status || status == 206 {
            if case .upload = operation.kind {
                let content = GeneratedContent.bytes(of: operation)
                contents.append(
                    KnownContent.receipt(byteCount: content.count, checksum: KnownContent.checksum(content)))
            } else {
                contents.append(KnownContent.bytes(id: target.id, count: target.byteCount))
            }
        }
        if status == 503, target.failureCount > 0 { contents.append(Data("unavailable".utf8)) }
        if status == 401, target.isGuarded || operation.usesTokens { contents.append(Data("unauthorized".utf8)) }
        if status == target.redirectStatus, target.redirectCount > 0, refusesRedirects(operation) {
            contents.append(Data("elsewhere".utf8))
        }
        return contents
    }

    private func refusesRedirects(_ operation: Operation) -> Bool {
        plan.sessions[operation.session].redirecting?.follows == false
    }

    static func difference(_ content: Data, _ expected: Data) -> String {
        let index = zip(content, expected).enumerated().first { $0.element.0 != $0.element.1 }?.offset
        let place = index.map { "the first difference is at \($0)" } ?? "one begins with the other"
        return "\(content.count) bytes instead of \(expected.count), \(place)"
    }

    // MARK: Failures

    private func allows(_ error: AFError, of operation: Operation) -> Bool {
        let session = plan.sessions[operation.session]
        let interceptions = [operation.interception, session.interception].compactMap { $0 }
        switch error {
        case .explicitlyCancelled: return mayBeCancelled(operation)
        case .sessionDeinitialized: return plan.anyone(in: operation.session, does: .dropSession)
        case .sessionInvalidated: return plan.anyone(in: operation.session, does: .invalidateSession)
        case .requestAdaptationFailed:
            return interceptions.contains(where: \.refusesToAdapt) || mayFailToRefresh(operation)
        case .requestRetryFailed: return interceptions.contains(where: \.failsInRetry) || mayFailToRefresh(operation)
        case .responseValidationFailed: return mayFailValidation(operation)
        case .responseSerializationFailed: return mayBeEmpty(operation)
        case .sessionTaskFailed(let error): return allows(error, operation, session)
        case .createURLRequestFailed, .createUploadableFailed, .downloadedFileMoveFailed, .invalidURL,
            .multipartEncodingFailed, .parameterEncodingFailed, .parameterEncoderFailed, .serverTrustEvaluationFailed,
            .urlRequestValidationFailed:
            return false
        }
    }

    private func mayFailToRefresh(_ operation: Operation) -> Bool {
        operation.usesTokens && plan.sessions[operation.session].refreshing.fails
    }

    private func mayBeCancelled(_ operation: Operation) -> Bool {
        operation.meddlings.contains(where: \.cancels) || operation.headDecision?.allows == false
            || operation.elementLimit != nil || plan.anyone(in: operation.session, does: .cancelAllRequests)
    }

    private func mayFailValidation(_ operation: Operation) -> Bool {
        let target = operation.target
        if case .events = operation.kind { return true }
        return operation.validates
            && (!(200...299).contains(target.status) || target.failureCount > 0 || target.isGuarded
                || operation.usesTokens
                || target.redirectCount > 0 && refusesRedirects(operation))
    }

    /// Whether the content may be empty, which the serialiser of data refuses.
    private func mayBeEmpty(_ operation: Operation) -> Bool {
        operation.target.byteCount == 0
    }

    private func allows(_ error: any Error, _ operation: Operation, _ session: SessionPlan) -> Bool {
        guard let code = (error as? URLError)?.code else { return false }
        if code == .timedOut, operation.deadlineMilliseconds != nil { return true }
        let target = operation.target
        switch target.server {
        case .hostile: return true
        case .socket(let act):
            // Other acts end or break the connection, perhaps while a message is sent: every error is allowed.
            return ![SocketAct.echoes, .pings].contains(act) || operation.idleTimeoutMilliseconds != nil
        case .orderly: break
        }
        switch code {
        case .timedOut: return operation.idleTimeoutMilliseconds != nil
        case .dataLengthExceedsMaximum: return session.contentLimit.map { target.byteCount > $0 } ?? false
        case .requestBodyStreamExhausted:
            // An input stream cannot be read a second time for a redirect or a retry.
            if case .upload(.stream) = operation.kind { return true }
            return false
        default: return false
        }
    }
}
