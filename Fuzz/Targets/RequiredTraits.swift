// The traits of the package that this program needs.

#if !WebSocket
#error("FuzzTargets needs the trait WebSocket: build it with the default traits")
#endif
