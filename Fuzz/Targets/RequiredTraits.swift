// The traits of the package that these checks need.

#if !WebSocket
#error("FuzzTargets needs the trait WebSocket: build it with the default traits")
#endif
