// The module that comes with FireweedTesting: the library that is tested.

@_exported public import Fireweed
