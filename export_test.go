package headrace

import (
	"net/http"

	"github.com/headrace/headrace/internal/account"
)

// Routes is how many routes a Transport remembers.
func Routes(rt http.RoundTripper) int {
	t, ok := rt.(*transport)
	if !ok {
		return 0
	}
	t.routes.mu.RLock()
	defer t.routes.mu.RUnlock()
	return len(t.routes.known)
}

// Made is how many guards of its own a Transport has.
func Made(rt http.RoundTripper) int {
	made, _ := guardsOf(rt)
	return made
}

// Forgotten is how many guards a Transport may find again although it has forgotten them.
func Forgotten(rt http.RoundTripper) int {
	_, forgotten := guardsOf(rt)
	return forgotten
}

func guardsOf(rt http.RoundTripper) (made, forgotten int) {
	t, ok := rt.(*transport)
	if !ok {
		return 0, 0
	}
	t.routes.layer.mu.Lock()
	defer t.routes.layer.mu.Unlock()
	return len(t.routes.layer.made), len(t.routes.layer.forgotten)
}

// SameAccount reports whether two requests are authenticated alike, and whether
// they are at all.
func SameAccount(a, b *http.Request) (same, known bool) {
	x, y := account.Of(a), account.Of(b)
	return x == y, x != (account.ID{})
}

// Told is how much is kept, in bytes, of a stream of events.
func Told(events string) int {
	s := newScan(true)
	s.write([]byte(events))
	return len(s.told(true))
}
