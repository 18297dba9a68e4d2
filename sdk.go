package headrace

import (
	"net/http"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
)

// SDKRetries is the event of a request that an SDK has retried by itself, as its header
// X-Stainless-Retry-Count shows. Each transport emits it once, to the policy's observer and those of
// the request's context. Two retry layers multiply, and some SDKs ignore Retry-After: set the SDK's
// WithMaxRetries(0). Source is the host, and Reason the remedy.
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
	if t.told.Swap(true) {
		return
	}
	e := event.New(time.Now(), SDKRetries, req.URL.Host)
	e.Reason = "the SDK retries too: turn its retries off with WithMaxRetries(0)"
	emit.Send(to, e)
}
