// Package account tells which account sends a request: the one of its API key or of
// what stays the same in its signature. What is kept of it is a keyed hash.
package account

import (
	"crypto/rand"
	"crypto/sha256"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/headrace/headrace/internal/signer"
)

// mostCredentials bounds the credentials that have guards of their own, for all
// hosts of a process together. Further ones share a guard.
const mostCredentials = 4096

// ID is a keyed hash of what a request is authenticated by. It is of no
// use outside of this process. The zero ID is none.
type ID [16]byte

// accounts numbers the credentials of each host.
type accounts struct {
	secret [sha256.Size]byte

	mu    sync.RWMutex // guards known and last
	known map[account]string
	last  map[string]int // by host
}

type account struct {
	host string
	key  ID
}

//nolint:gochecknoglobals // the guards are shared by all transports of the process, and so are their names
var credentials = sync.OnceValue(func() *accounts {
	a := &accounts{known: map[account]string{}, last: map[string]int{}}
	_, _ = rand.Read(a.secret[:]) // it never fails
	return a
})

// Number returns what the names of the guards for an account end in: the first one
// of a host is "#key1". It is empty for none.
func Number(host string, id ID) string { return credentials().number(host, id) }

func (a *accounts) number(host string, key ID) string {
	if key == (ID{}) {
		return ""
	}
	to := account{host, key}
	a.mu.RLock()
	name := a.known[to]
	a.mu.RUnlock()
	if name != "" {
		return name
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if name = a.known[to]; name != "" {
		return name
	}
	if len(a.known) >= mostCredentials {
		return "#others"
	}
	a.last[host]++
	name = "#key" + strconv.Itoa(a.last[host])
	a.known[to] = name
	return name
}

// hash returns the ID for a text that identifies an account: half of a SHA-256
// that begins with a secret. The other half is not known to any caller, so nothing
// can be appended to what was hashed.
func (a *accounts) hash(text string) (c ID) {
	var short [256]byte // which most keys fit in
	b := append(append(short[:0], a.secret[:]...), text...)
	sum := sha256.Sum256(b)
	clear(b)
	copy(c[:], sum[:])
	return c
}

// Known is the context of a request whose account has been looked up.
type Known interface {
	// Account returns it; ok is false if it has not been looked up after all.
	Account() (id ID, ok bool)
}

// Of returns the account of a request.
func Of(req *http.Request) ID {
	if k, ok := req.Context().(Known); ok {
		if id, ok := k.Account(); ok {
			return id
		}
	}
	return OfTo(req, req.URL)
}

// OfTo returns the account of a request that is going to be sent to another URL.
func OfTo(req *http.Request, to *url.URL) ID {
	id := identity(req, to)
	if id == "" {
		if sign := signer.Of(req.Context()); sign != nil {
			id = signature(req, to, sign)
		}
	}
	if id == "" {
		return ID{}
	}
	return credentials().hash(id + quota(req.Header))
}

// quota names the quota that a request uses, if its key has several: the organization or project of OpenAI, or the project of
// Google. It is empty for the only quota of a key.
func quota(h http.Header) string {
	org, project, google := first(h, "Openai-Organization"), first(h, "Openai-Project"), first(h, "X-Goog-User-Project")
	if org == "" && project == "" && google == "" {
		return ""
	}
	return "\n" + org + "\n" + project + "\n" + google // which no header has in it
}

// signature returns the identity that sign will give a request further down. A
// sign that fails does so again when the request is sent.
func signature(req *http.Request, to *url.URL, sign func(*http.Request) error) (id string) {
	defer func() { _ = recover() }() // it is user code
	own := *to
	bare := (&http.Request{Method: req.Method, URL: &own, Host: req.Host, Header: http.Header{}}).WithContext(req.Context())
	if sign(bare) != nil {
		return ""
	}
	return Identity(bare)
}

// keyHeaders and keyValues are where API keys are besides Authorization: in which
// headers, and in which values of the query.
func keyHeaders() [4]string {
	return [...]string{"X-Api-Key", "Api-Key", "X-Goog-Api-Key", "Ocp-Apim-Subscription-Key"}
}

func keyValues() [4]string { return [...]string{"api_key", "api-key", "apikey", "subscription-key"} }

// Identity returns the text that identifies the account of a request: an API
// key, or the part of a signature that stays the same. It must not be kept.
func Identity(req *http.Request) string { return identity(req, req.URL) }

func identity(req *http.Request, to *url.URL) string {
	if id := authorized(first(req.Header, "Authorization")); id != "" {
		return id
	}
	for _, name := range keyHeaders() {
		if key := first(req.Header, name); key != "" {
			return key
		}
	}
	for key := range queryKeys(to) {
		return key
	}
	return ""
}

// queryKeys yields the API keys in the query of a URL.
func queryKeys(u *url.URL) iter.Seq[string] {
	return func(yield func(string) bool) {
		if u.RawQuery == "" || !strings.Contains(u.RawQuery, "key=") {
			return
		}
		query := u.Query()
		for _, name := range keyValues() {
			if key := query.Get(name); key != "" && !yield(key) {
				return
			}
		}
		if key := query.Get("key"); key != "" && strings.HasSuffix(Host(u), ".googleapis.com") { // elsewhere it may be any key
			yield(key)
		}
	}
}

// Secrets yields what a request is authenticated by, without the name of its scheme.
// It must not be kept.
func Secrets(req *http.Request) iter.Seq[string] {
	return func(yield func(string) bool) {
		_, secret, _ := strings.Cut(first(req.Header, "Authorization"), " ")
		if secret != "" && !yield(secret) {
			return
		}
		for _, name := range keyHeaders() {
			if key := first(req.Header, name); key != "" && !yield(key) {
				return
			}
		}
		queryKeys(req.URL)(yield)
	}
}

// authorized returns what identifies an account in an Authorization. Signatures
// are different for each request, and tokens that expire for each hour.
func authorized(value string) string {
	scheme, rest, _ := strings.Cut(value, " ")
	switch rest = strings.TrimSpace(rest); {
	case strings.EqualFold(scheme, "Bearer") && strings.HasPrefix(rest, "eyJ"):
		return claimed(rest)
	case rest == "", strings.EqualFold(scheme, "Bearer"), strings.EqualFold(scheme, "Basic"):
		return value
	case strings.HasPrefix(scheme, "AWS4-"):
		_, rest, _ = strings.Cut(rest, "Credential=")
		id, _, _ := strings.Cut(rest, "/") // the access key, without date and region
		return id
	case strings.Contains(rest, ","): // parameters, such as a nonce
		return ""
	}
	id, _, _ := strings.Cut(rest, ":") // of "name:signature"
	return id
}

// Host returns the one spelling of a host: in lower case, without the dot of
// the root, and without the default port.
func Host(u *url.URL) string {
	host := strings.ToLower(u.Host)
	switch u.Scheme {
	case "https":
		host = strings.TrimSuffix(host, ":443")
	case "http":
		host = strings.TrimSuffix(host, ":80")
	}
	if i := strings.LastIndex(host, ".:"); i >= 0 {
		return host[:i] + host[i+1:]
	}
	return strings.TrimSuffix(host, ".")
}

// first returns the first value of a field. The name must be in canonical form.
func first(h http.Header, name string) string {
	if v := h[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}
