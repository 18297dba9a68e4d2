package download

import (
	"hash"
	"io/fs"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/clock"
	"github.com/headrace/headrace/retry"
)

const owner = "download"

// Option changes how one file is fetched.
type Option func(*config)

// WithRetry bounds the attempts that end without any progress; an attempt that adds
// to what can be kept lets the policy begin anew. p.Retryable and p.Except see the *Error. Without this
// option it is 8 attempts within about a minute, with the delays of retry.Policy. A Retry-After
// that is longer than the delay is kept to, up to 10 minutes; a longer one ends the download. An answer that ends before the file does
// and brings less than 1 MiB waits as a failed one does.
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

// WithEncoded stores the body as it is sent also if it has a Content-Encoding, such as a file in gzip of a server that
// calls it an encoding. Otherwise that is an error, for identity is what is asked for.
func WithEncoded() Option { return func(c *config) { c.encoded = true } }

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

// WithProgress calls f while bytes come, and while those of an earlier call are read again, at most once in every (0 means 500
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
