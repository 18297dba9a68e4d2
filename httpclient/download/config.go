package download

import (
	"io/fs"
	"net/http"
	"path/filepath"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/clock"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/retry"
)

// The defaults, chosen by judgement: an outage of a minute is bridged; what a
// killed process loses is fetched again within seconds; syncing costs little beside writing.
const (
	defaultAttempts = 8
	defaultMode     = fs.FileMode(0o644)
	defaultReport   = 500 * time.Millisecond
	defaultSyncSize = 16 << 20
	defaultSyncTime = 2 * time.Second
)

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
	if c.encoded { // the same version may be there in both ways
		c.resource += " encoded"
	}
}
