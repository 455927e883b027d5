// Random operations.

import FireweedTesting

extension Operation {
    static func random(_ number: Int, of sessions: [SessionPlan], _ random: inout SeededGenerator) -> Operation {
        let session = random.number(0...(sessions.count - 1))
        let plan = sessions[session]
        let kind = kind(&random)
        var operation = Operation(
            number: number, session: session, start: random.number(0...700_000), kind: kind,
            target: target(for: kind, plan, &random),
            reading: random.choice(.handlers(1), .handlers(random.number(1...4)), .awaiting, .awaiting, .both))
        operation.validates = random.happens(50)
        operation.interception = random.maybe(30) { .random(&$0) }
        operation.headDecision = random.maybe(15) {
            HeadDecision(answering: .random(&$0), allows: $0.happens(80))
        }
        operation.elementLimit = random.maybe(15) { $0.number(0...3) }
        operation.isAuthenticated = operation.target.isGuarded && random.happens(70)
        if random.happens(65) {
            for _ in 0..<random.number(1...4) { operation.meddlings.append(.random(&random)) }
        }
        operation.deadlineMilliseconds = random.maybe(6) { $0.choice(0, 5, 50, 200) }
        operation.usesTokens = operation.mayUseTokens && random.happens(25)
        operation.bound(&random)
        return operation
    }

    /// Whether the plan may demand tokens: the server supports them for this kind, and no interceptor or credentials
    /// interfere.
    private var mayUseTokens: Bool {
        guard case .orderly = target.server, interception == nil, !target.isGuarded, !target.isForeign else {
            return false
        }
        switch kind {
        case .data, .stream, .upload, .download: return true
        case .webSocket, .events: return false
        }
    }

    private static func kind(_ random: inout SeededGenerator) -> Kind {
        switch random.number(0...99) {
        case ..<36: .data
        case ..<52: .stream
        case ..<68: .upload(random.choice(.data, .file, .stream, .form))
        case ..<84: .download(random.choice(.temporary, .destination, .resumable))
        case ..<92: .webSocket
        default: .events
        }
    }

    private static func target(for kind: Kind, _ session: SessionPlan, _ random: inout SeededGenerator) -> PlannedTarget
    {
        switch kind {
        case .data, .stream, .download:
            if session.route == .clear, random.happens(25) {
                let act = HostileAct.allCases[random.number(0...(HostileAct.allCases.count - 1))]
                return PlannedTarget(server: .hostile(act), id: HostileAct.id, byteCount: HostileAct.byteCount)
            }
            var target = PlannedTarget.random(&random, sharing: session.cache != .none && random.happens(70))
            target.isForeign =
                session.route == .clear && target.redirectCount > 0 && !target.isGuarded && random.happens(60)
            return target
        case .upload:
            var target = PlannedTarget(
                id: random.number(1...1_000_000), byteCount: random.choice(0, 10, 5_000, 200_000))
            if random.happens(15) {
                target.redirectCount = random.number(1...2)
                target.redirectStatus = random.choice(307, 308)
            }
            return target
        case .webSocket:
            let acts = SocketAct.allCases
            let act = acts[random.number(0...(acts.count - 1))]
            return PlannedTarget(
                server: .socket(act), id: random.number(1...1_000_000), byteCount: random.choice(0, 10, 1_000, 40_000))
        case .events:
            return PlannedTarget(id: random.number(1...1_000_000), byteCount: random.number(1...12))
        }
    }

    /// Adds an idle time-out or a cancellation where the server might never end the request.
    private mutating func bound(_ random: inout SeededGenerator) {
        switch target.server {
        case .orderly:
            if random.happens(4) { idleTimeoutMilliseconds = random.choice(1, 10, 100) }
        case .hostile: idleTimeoutMilliseconds = random.choice(50, 200, 500)
        case .socket(.silent): meddlings.append(Meddling(moment: .after(random.number(0...60_000)), action: .cancel))
        case .socket: break
        }
    }
}
