// Programs for tests that need a process of their own, for `make bench`, and for the demonstrations.
//
// The first argument says which program runs, the others are its own: `TestPrograms cost URL COUNT`.

import Foundation

let arguments = Array(CommandLine.arguments.dropFirst())
let programArguments = Array(arguments.dropFirst())
switch arguments.first {
case "cost": try await RequestCost(programArguments).run()
case "process": try await ProcessProgram(programArguments).run()
case "fleet": try await FleetProgram(programArguments).run()
case "overload": try await OverloadProgram(programArguments).run()
case "network": try await NetworkProgram(programArguments).run()
case "shared": await SharedFilesProgram(programArguments).run()
case "store": try StoreProgram(programArguments).run()
default: exit(64)
}
exit(0)
