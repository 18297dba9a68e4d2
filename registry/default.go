package registry

import (
	"sync"

	"github.com/headrace/headrace/guard"
)

var processWide = sync.OnceValue(func() *Registry { return with(nil) }) //nolint:gochecknoglobals // one for the process is what it is for

// Default returns the registry of this process. It begins empty. A library
// should take a *Registry from its caller: libraries that use this one share
// names with each other.
func Default() *Registry { return processWide() }

// Get is Get of the default registry.
func Get(name string) *guard.Guard { return Default().Get(name) }

// For is For of the default registry.
func For(service, host string) *guard.Guard { return Default().For(service, host) }

// Register is Register of the default registry.
func Register(name string, p guard.Policy) (*guard.Guard, error) {
	return Default().Register(name, p)
}

// GetOrCreate is GetOrCreate of the default registry.
func GetOrCreate(name string, p guard.Policy) (*guard.Guard, error) {
	return Default().GetOrCreate(name, p)
}

// Replace is Replace of the default registry.
func Replace(name string, p guard.Policy) (*guard.Guard, error) {
	return Default().Replace(name, p)
}
