// What a file that imports FireweedTesting sees besides it: the library that is tested.

@_exported public import Fireweed
