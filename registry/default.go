package registry

import "sync"

var processWide = sync.OnceValue(func() *Registry { return with(nil) }) //nolint:gochecknoglobals // one for the process is what it is for

// Default returns the registry of this process. It begins empty. A library
// should take a *Registry from its caller: libraries that use this one share
// names with each other.
func Default() *Registry { return processWide() }
