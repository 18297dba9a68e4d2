package headrace

import (
	"net/http"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
)

// SDKRetries is the event of a request that an SDK has sent again by itself,
// which its field X-Stainless-Retry-Count tells. It comes once for each transport, with
// the first such request that is observed, to the observers of WithObserver and of the request's context. Such retries pass
// the limiter, but each failure is then tried by two, and some SDKs sleep
// whatever Retry-After says. Set the SDK's WithMaxRetries(0). Source is the
// host, and Reason says what to do.
const SDKRetries event.Kind = "transport.sdk_retries"

// noticeRetries tells of an SDK that was left to retry.
func (t *transport) noticeRetries(req *http.Request) {
	n := first(req.Header, "X-Stainless-Retry-Count")
	if n == "" || n == "0" {
		return
	}
	to := event.Tee(t.observer, event.From(req.Context()))
	if to == nil { // the next one may be observed
		return
	}
	t.told.Do(func() {
		e := event.New(time.Now(), SDKRetries, req.URL.Host)
		e.Reason = "the SDK retries by itself, besides this transport: give it WithMaxRetries(0)"
		emit.Send(to, e)
	})
}
