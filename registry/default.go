package registry

import (
	"sync"

	"github.com/headrace/headrace/adaptive"
)

var processWide = sync.OnceValue(func() *Registry { return with(nil) }) //nolint:gochecknoglobals // one for the process is what it is for

// Default returns the registry of this process. It begins empty, and what nobody
// has configured finds its limits by itself. A library should take a *Registry
// from its caller: who imports two that use this one shares names between them.
func Default() *Registry { return processWide() }

// Get is Get of the default registry.
func Get(name string) *adaptive.Limiter { return Default().Get(name) }

// For is For of the default registry.
func For(service, host string) *adaptive.Limiter { return Default().For(service, host) }

// Register is Register of the default registry.
func Register(name string, c adaptive.Config) (*adaptive.Limiter, error) {
	return Default().Register(name, c)
}

// GetOrCreate is GetOrCreate of the default registry.
func GetOrCreate(name string, c adaptive.Config) (*adaptive.Limiter, error) {
	return Default().GetOrCreate(name, c)
}

// Replace is Replace of the default registry.
func Replace(name string, c adaptive.Config) (*adaptive.Limiter, error) {
	return Default().Replace(name, c)
}
