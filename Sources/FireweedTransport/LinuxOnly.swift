// A plain message for builds on other platforms, instead of errors about modules that are missing there. No imports.

#if !os(Linux)
#error("Fireweed is for Linux; on Apple's platforms use Alamofire itself")
#endif
