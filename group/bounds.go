package group

// Bounds of what members may ask for.
const (
	mostName     = 256     // bytes of the name of a key
	mostMembers  = 1 << 10 // connections
	mostGreeting = 1 << 8  // connections that have not said hello
	mostKeys     = 1 << 14
	mostWaiting  = 1 << 12 // calls of one member and key
	mostInFlight = 1 << 20 // calls of one member and key
)

// bounds are what one member can have a leader hold, and send.
type bounds struct {
	keys     int
	waiting  int   // calls of a key; a member of ours waits for one
	inFlight int   // calls of a key
	held     int64 // calls in flight of all keys
	frame    int   // bytes
	unsent   int   // bytes
}

// ofUser are the bounds for a process of the same user.
func ofUser() bounds {
	return bounds{mostKeys, mostWaiting, mostInFlight, mostInFlight, mostFrame, mostUnsent}
}
