package headrace

import (
	"net/http"
	"time"

	"github.com/headrace/headrace/event"
)

// SDKRetries is the event of a request that an SDK has sent again by itself,
// which its field X-Stainless-Retry-Count tells. It comes once for each transport, to
// the observers of WithObserver and of the request's context. Such retries pass
// the limiter, but each failure is then tried by two, and some SDKs sleep
// whatever Retry-After says. Set the SDK's WithMaxRetries(0). Source is the
// host, and Reason says what to do.
const SDKRetries event.Kind = "transport.sdk_retries"

// noticeRetries tells of an SDK that was left to retry.
func (t *transport) noticeRetries(req *http.Request) {
	n := req.Header.Get("X-Stainless-Retry-Count")
	if n == "" || n == "0" {
		return
	}
	t.told.Do(func() {
		e := event.New(time.Now(), SDKRetries, req.URL.Host)
		e.Reason = "the SDK retries by itself, besides this transport: give it WithMaxRetries(0)"
		event.Send(t.observer, e)
		event.Emit(req.Context(), e)
	})
}
