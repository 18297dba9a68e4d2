package run

import (
	"context"
	"net/url"
	"strings"

	"github.com/headrace/headrace/httpclient"
)

// caller makes the client. It uses the proxies set in the environment, as other command line programs do.
func (j *Job) caller(stop context.CancelCauseFunc) (*caller, error) {
	via, through, err := proxyFor(j.Base)
	if err != nil {
		return nil, err
	}
	c := &caller{
		Run: j.Run, once: j.idempotencyKey, stop: stop, say: j.say, reach: reach{host: j.Base.Host, proxy: via, maxWait: j.MaxWait},
		alike: alike{off: j.MaxFailures != nil}, hard: j.guard.Stats().Limits.Windows, room: newRoom(mostAnswers, j.Ordered),
	}
	config := httpclient.Config{
		Service: j.Base.Host, UserAgent: j.Agent, NoIDs: true, MaxResponse: mostResponse,
		Timeouts: httpclient.Timeouts{Call: j.Timeout, Header: j.Timeout},
		Pool:     httpclient.Pool{MaxIdlePerHost: j.workers()},
	}
	if through != nil {
		config.Proxies = map[string]*url.URL{strings.ToLower(j.Base.Hostname()): through}
	}
	if !j.Key.IsZero() {
		sign := httpclient.Bearer(j.Key)
		if j.Auth != "" {
			sign = httpclient.HeaderAuth(j.Auth, j.Key)
		}
		config.Sign = httpclient.OnlyTo(j.Base.String(), sign)
		if key, err := j.Key.Reveal(); err == nil && key != "" {
			c.secrets.add(key)
		}
	}
	for name, values := range j.Headers {
		for _, v := range values {
			c.secrets.header(name, v)
		}
	}
	c.client, err = httpclient.New(config)
	return c, err
}
