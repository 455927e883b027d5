import FireweedTransport
import FixtureServer
import Foundation
import Testing

@Suite("Transports: connections, and the end of a transport", .timeLimit(.minutes(TestTimeouts.minutes)))
struct ConnectionConformanceTests {
    private func isReused(_ stage: ConformanceStage) async throws -> Bool {
        let transfer = try stage.transfer(of: .reuse)
        transfer.start()
        let end = try await transfer.end()
        #expect(end.failure == nil && end.report.connection != nil)
        return end.report.isReusedConnection
    }

    @Test("an idle connection is used again until it is closed", arguments: ConformanceSubjects.all)
    func idle(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject, .reuse) { stage in
            let (first, second) = (try await isReused(stage), try await isReused(stage))
            stage.transport.closeIdleConnections()
            let third = try await isReused(stage)
            #expect([first, second, third] == [false, true, false])
        }
    }

    @Test(
        "closing idle connections closes them beside those that are used, which go on",
        arguments: ConformanceSubjects.all)
    func busy(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject) { stage in
            let transfer = try stage.transfer(of: .large, afterHead: { _, _ in Flow(.receivingPaused, revision: 1) })
            transfer.start()
            try await transfer.head()
            try await stage.otherWork()
            stage.transport.closeIdleConnections()
            let next = try stage.transfer(of: .small)
            next.start()
            let report = try await next.end().report
            // Over HTTP/2 the connection that is used takes it.
            #expect(report.isReusedConnection == (report.protocolName == "h2"))
            transfer.setFlow(.running, revision: 2)
            #expect(try await transfer.end().failure == nil)
            #expect(transfer.record.content == ScenarioContent.large)
        }
    }

    @Test("shutting down ends every transfer as cancelled, and later ones too", arguments: ConformanceSubjects.all)
    func shutDown(subject: any ConformanceSubject) async throws {
        try await ConformanceStage.play(subject, .silent, .headOnly, .stalled) { stage in
            func play() async throws {
                try await stage.otherWork()
                let running = try [Scenario.silent, .headOnly, .stalled, .large]
                    .map { try stage.transfer(of: $0, afterHead: { _, _ in Flow(.receivingPaused, revision: 1) }) }
                for transfer in running { transfer.start() }
                for transfer in running.dropFirst() { try await transfer.head() }
                let suspended = try stage.transfer(of: .small)
                suspended.start(Flow(.suspended, revision: 1))
                let made = try stage.transfer(of: .small)
                stage.transport.shutDown()
                made.start()
                let later = try stage.transfer(of: .small)
                later.start()
                let laterCancelled = try stage.transfer(of: .small)
                laterCancelled.cancel()
                for transfer in running + [suspended, made, later, laterCancelled] {
                    #expect(try await transfer.end().isCancelled)
                    #expect(transfer.record.violations.isEmpty)
                }
                stage.transport.shutDown()
                stage.transport.closeIdleConnections()
                stage.forgetTransfers()
            }
            try await play()
            // Five small ones, four that ran, four around the shut-down.
            try await stage.recorderReleases.next(13)
        }
    }

    @Test("a transport that is dropped ends its transfers", arguments: ConformanceSubjects.all)
    func dropped(subject: any ConformanceSubject) async throws {
        let recorder = TransferRecorder(
            wantsReadComplete: false, afterHead: { _, _ in .undecided }, afterContent: { _, _ in .undecided },
            whenReleased: {})
        try subject.requires(.silent)
        func start() throws -> RecordedTransfer {
            let transport = try subject.makeTransport()
            let message = RequestMessage(url: try subject.url(of: .silent), idleTimeout: 0)
            let transfer = RecordedTransfer(
                control: transport.makeTransfer(of: message, for: recorder), recorder: recorder)
            transfer.start()
            return transfer
        }
        let transfer = try start()
        #expect(try await transfer.end().isCancelled)
    }
}
