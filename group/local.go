package group

import (
	"context"
	"time"
)

// local is the site of the processes of one host: the path of a Unix socket.
type local string

func (p local) dial(ctx context.Context, _ time.Duration, leads bool) (l *link, leader int, err error) {
	return dial(ctx, string(p), leads)
}

// succeed makes way for a leader that does not answer, and leads if no process does.
func (p local) succeed(ctx context.Context, cause error) (*reign, error) {
	if isTimeout(cause) {
		if err := usurp(ctx, string(p)); err != nil {
			return nil, err
		}
	}
	return begin(string(p))
}

func (local) patience() patience {
	return patience{first: grace, grace: grace, dial: helloTimeout, soonest: soonest, latest: grace}
}
