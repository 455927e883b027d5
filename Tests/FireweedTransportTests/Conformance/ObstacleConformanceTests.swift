import FixtureServer
import Testing

@Suite("Transports: what the conformance suite leaves out")
struct ObstacleConformanceTests {
    @Test("each scenario is played by a transport, and what a transport does not play is told with the reason")
    func obstacles() {
        for scenario in Scenario.allCases {
            #expect(ConformanceSubjects.all.contains { $0.obstacle(to: scenario) == nil }, "\(scenario)")
        }
        for subject in ConformanceSubjects.all {
            for scenario in Scenario.allCases {
                guard let obstacle = subject.obstacle(to: scenario) else { continue }
                #expect(!obstacle.isEmpty)
                // Swift Testing counts a cancelled test case among those that passed, and does not say why it was.
                print("➜ Not played by \"\(subject.name)\": \(scenario): \(obstacle)")
            }
        }
    }
}
