package headrace

import "net/http"

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

// SameAccount reports whether two requests are authenticated alike, and whether
// they are at all.
func SameAccount(a, b *http.Request) (same, known bool) {
	x, y := credentialOf(a), credentialOf(b)
	return x == y, x != credential{}
}
