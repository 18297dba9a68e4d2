package registry

import "sync"

var processWide = sync.OnceValue(empty) //nolint:gochecknoglobals // one for the process is what it is for

// Default returns the registry of this process, which starts empty. A library should
// take a *Registry from its caller instead.
func Default() *Registry { return processWide() }
