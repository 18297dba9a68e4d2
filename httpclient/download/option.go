package download

import (
	"hash"
	"io/fs"
	"net/http"
	"path/filepath"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/clock"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/retry"
)

const owner = "download"

// The defaults, chosen by judgement: an outage of a minute is bridged; what a
// killed process loses is fetched again within seconds; syncing costs little beside writing.
const (
	defaultAttempts = 8
	defaultMode     = fs.FileMode(0o644)
	defaultReport   = 500 * time.Millisecond
	defaultSyncSize = 16 << 20
	defaultSyncTime = 2 * time.Second
)

// Option changes how one file is fetched.
type Option func(*config)

type config struct {
	problems invalid.Problems

	retry    retry.Policy
	resource string
	maxBytes int64
	mode     fs.FileMode
	modeSet  bool
	sum      checksum
	report   func(Progress)
	every    time.Duration
	observer event.Observer
	clock    clock.Clock

	disk     disk
	syncSize int64
	target   string
}

// WithRetry bounds the attempts that end without any progress; an attempt that adds
// to what can be kept lets the policy begin anew. p.Retryable and p.Except see the *Error. Without this
// option it is 8 attempts within about a minute, with the delays of retry.Policy. A Retry-After
// that is longer than the delay is kept to, up to 10 minutes.
func WithRetry(p retry.Policy) Option {
	return func(c *config) { c.retry = p }
}

// WithChecksum fails with a [ChecksumError], and keeps nothing, unless the whole file has this checksum: "sha256:",
// "sha384:" or "sha512:" and hexadecimal digits.
func WithChecksum(text string) Option {
	return func(c *config) {
		sum, problem := parseChecksum(text)
		if problem != "" {
			c.problems.Addf("WithChecksum", "%s", problem)
			return
		}
		c.sum = sum
	}
}

// WithHash is [WithChecksum] for other algorithms. name is what texts call it; a nil want
// checks nothing, and only Result.Checksum is by this algorithm.
func WithHash(name string, newHash func() hash.Hash, want []byte) Option {
	return func(c *config) {
		if name == "" || newHash == nil {
			c.problems.Addf("WithHash", "has no name or no function; want both")
			return
		}
		if n := newHash().Size(); want != nil && len(want) != n {
			c.problems.Addf("WithHash", "%d bytes; want the %d of %s, or nil", len(want), n, name)
			return
		}
		c.sum = checksum{name: name, new: newHash, want: want}
	}
}

// WithMaxBytes fails with [ErrTooLarge], and keeps nothing, if the file is longer than n bytes. Without it there is no
// bound but the client's.
func WithMaxBytes(n int64) Option {
	return func(c *config) {
		if n < 1 {
			c.problems.Addf("WithMaxBytes", "%d; want at least 1, or leave it out for no bound", n)
		}
		c.maxBytes = n
	}
}

// WithMode gives the file these permissions, less what the umask takes. Without
// it a file that is replaced hands its permissions on, and a new one has 0644 less the umask.
func WithMode(mode fs.FileMode) Option {
	return func(c *config) {
		if mode&^fs.ModePerm != 0 || mode&0o600 != 0o600 {
			c.problems.Addf("WithMode", "%v; want permissions only, and those to read and write for the owner", mode)
		}
		c.mode, c.modeSet = mode, true
	}
}

// WithIdentity says what is fetched, in place of the URL, for URLs that differ each
// time, such as signed ones: a download goes on only if an earlier call had the same identity. It is stored as a hash.
func WithIdentity(name string) Option {
	return func(c *config) {
		if name == "" {
			c.problems.Addf("WithIdentity", "is empty; leave it out to use the URL")
		}
		c.resource = name
	}
}

// WithProgress calls f while bytes come, at most once in every (0 means 500
// ms), and once at the end of a success. f is called on the goroutine of the
// download, which waits for it. If it panics it is not called again and the download goes on.
func WithProgress(f func(Progress), every time.Duration) Option {
	return func(c *config) {
		if every < 0 {
			c.problems.Addf("WithProgress", "every %v; want a positive duration, or 0 for %v", every, defaultReport)
		}
		if every == 0 {
			every = defaultReport
		}
		c.report, c.every = f, every
	}
}

// WithObserver tells o of the download, with event.DownloadFetch, in addition to the observers of the context.
func WithObserver(o event.Observer) Option { return func(c *config) { c.observer = o } }

// WithClock measures and waits by another clock, in tests. Nil means the real one.
func WithClock(cl clockwork.Clock) Option { return func(c *config) { c.clock = clock.New(cl) } }

func configure(client Doer, req *http.Request, target string, opts []Option) (*config, error) {
	c := &config{
		problems: invalid.Problems{Owner: owner}, retry: retry.Policy{MaxAttempts: defaultAttempts},
		mode: defaultMode, sum: sha256Sum(), clock: clock.New(nil), disk: realDisk{}, syncSize: defaultSyncSize,
		target: target,
	}
	for _, opt := range opts {
		if opt != nil {
			opt(c)
		}
	}
	if invalid.Nil(client) {
		c.problems.Addf("client", "nil; want an *httpclient.Client or an *http.Client")
	}
	switch filepath.Base(target) {
	case ".", "..", string(filepath.Separator):
		c.problems.Addf("target", "%q; want the name of a file", target)
	}
	if target != "" && target[len(target)-1] == filepath.Separator {
		c.problems.Addf("target", "%q is a folder; want the name of a file", target)
	}
	c.problems.AddPart("WithRetry", c.retry.Validate())
	c.checkRequest(req)
	return c, c.problems.Err()
}

func (c *config) checkRequest(req *http.Request) {
	if req == nil || req.URL == nil {
		c.problems.Addf("req", "has no URL")
		return
	}
	if req.Method != "" && req.Method != http.MethodGet || req.Body != nil && req.Body != http.NoBody {
		c.problems.Addf("req", "method %q, or a body; want GET without a body", req.Method)
	}
	for _, name := range []string{"Range", "If-Range"} {
		if req.Header.Get(name) != "" {
			c.problems.Addf("req", "has the header %s, which a download sets by itself; leave it out", name)
		}
	}
	if c.resource == "" {
		u := *req.URL
		u.User, u.Fragment, u.RawFragment = nil, "", ""
		c.resource = u.String()
	}
}
