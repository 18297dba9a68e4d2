package download

import (
	"cmp"
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

// Config describes a download. The zero value is ready to use.
type Config struct {
	// Checksum is that of the whole file: "sha256:", "sha384:" or "sha512:" and hexadecimal digits. If it
	// differs, the download fails with ErrChecksum and keeps nothing.
	Checksum string
	// Hashes are further algorithms for Checksum, such as {"md5": md5.New}.
	Hashes map[string]func() hash.Hash
	// MaxBytes bounds the file; a longer one fails with ErrTooLarge and keeps nothing. 0 means no bound but the client's.
	MaxBytes int64
	// Mode is the permissions of the file, minus the umask. 0 means those of the replaced file, or 0644.
	Mode fs.FileMode
	// Encoded stores a body with a Content-Encoding as it is sent. Otherwise it is an error.
	Encoded bool
	// Identity identifies the file in place of the URL, for URLs that differ each time, such as signed ones. It is stored as
	// a hash.
	Identity string

	// Retry bounds consecutive attempts without progress. Its functions see the *Error. Nil means 8
	// attempts within about a minute. A longer Retry-After is honoured up to 10 minutes; beyond that the
	// download ends.
	Retry *retry.Policy

	// Progress is called on the goroutine of the download, at most once in ProgressEvery, and at the end of a success. If it
	// panics it is not called again.
	Progress func(Progress)
	// ProgressEvery is the least time between calls of Progress. 0 means 500 ms.
	ProgressEvery time.Duration
	// Observer receives event.DownloadFetch, besides the observers of the context.
	Observer event.Observer
	// Clock replaces the real clock in tests. Nil means the real one.
	Clock clockwork.Clock

	disk     disk  // nil: the real one
	syncSize int64 // 0: defaultSyncSize
}

// config is a Config that is ready to use.
type config struct {
	problems invalid.Problems

	retry    retry.Policy
	resource string
	encoded  bool
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

func configure(client Doer, req *http.Request, target string, settings Config) (*config, error) {
	c := &config{
		problems: invalid.Problems{Owner: owner}, retry: retry.Policy{MaxAttempts: defaultAttempts},
		resource: settings.Identity, encoded: settings.Encoded, maxBytes: settings.MaxBytes,
		mode: cmp.Or(settings.Mode, defaultMode), modeSet: settings.Mode != 0, sum: sha256Sum(),
		report: settings.Progress, every: cmp.Or(settings.ProgressEvery, defaultReport),
		observer: settings.Observer, clock: clock.New(settings.Clock),
		disk: settings.disk, syncSize: cmp.Or(settings.syncSize, defaultSyncSize), target: target,
	}
	if c.disk == nil {
		c.disk = realDisk{}
	}
	if settings.Retry != nil {
		c.retry = *settings.Retry
	}
	c.checkSettings(settings)
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
	c.problems.AddPart("Retry", c.retry.Validate())
	c.checkRequest(req)
	return c, c.problems.Err()
}

func (c *config) checkSettings(settings Config) {
	for name, f := range settings.Hashes {
		if f == nil {
			c.problems.Addf("Hashes", "%q is nil; want a function", name)
		}
	}
	if settings.Checksum != "" {
		sum, problem := parseChecksum(settings.Checksum, settings.Hashes)
		if problem != "" {
			c.problems.Addf("Checksum", "%s", problem)
		} else {
			c.sum = sum
		}
	}
	if n := c.maxBytes; n < 0 {
		c.problems.Addf("MaxBytes", "%d; want at least 1, or 0 for no bound", n)
	}
	if c.mode&^fs.ModePerm != 0 || c.mode&0o600 != 0o600 {
		c.problems.Addf("Mode", "%v; want permissions only, and those to read and write for the owner", c.mode)
	}
	if c.every < 0 {
		c.problems.Addf("ProgressEvery", "%v; want a positive duration, or 0 for %v", c.every, defaultReport)
	}
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
			c.problems.Addf("req", "has the header %s, which a download sets itself; leave it out", name)
		}
	}
	if c.resource == "" {
		u := *req.URL
		u.User, u.Fragment, u.RawFragment = nil, "", ""
		c.resource = u.String()
	}
	if c.encoded { // the same version may be there in both ways
		c.resource += " encoded"
	}
}
