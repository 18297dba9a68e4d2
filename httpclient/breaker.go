package httpclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/internal/hook"
)

const statusOverloaded = 529 // not registered with IANA, used by Anthropic

// admit asks the breaker.
func (a *attempt) admit() error {
	b := a.call.client.config.Breaker
	if b == nil {
		return nil
	}
	ticket, err := b.Allow(a.req.Context())
	a.ticket = ticket
	return unsent(err)
}

// judge ends the breaker's ticket if the status alone decides the outcome.
func (a *attempt) judge(resp *http.Response) {
	if a.call.client.config.Breaker == nil {
		return
	}
	switch s := resp.StatusCode; {
	case s == http.StatusTooManyRequests, s == statusOverloaded,
		s == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") != "":
		a.ticket.Cancel()
	case s >= http.StatusInternalServerError:
		a.ticket.Failure(fmt.Errorf("status %d", s))
	}
}

// answers reports to the breaker that the body of an answer has begun, which shows that the server works: other calls need not
// wait until a long one ends.
func (a *attempt) answers() {
	b := a.call.client.config.Breaker
	if b == nil || a.begins.Swap(true) {
		return
	}
	hook.Open[interface{ Answers(t breaker.Ticket) }](b).Answers(a.ticket)
}

// endTicket ends the ticket if judge has not.
func (a *attempt) endTicket(err error) {
	if a.call.client.config.Breaker == nil {
		return
	}
	failed, ok := errors.AsType[*Error](err)
	switch {
	case err == nil:
		a.ticket.End(a.req.Context(), nil)
	case !ok, failed.Code == CodeUnsent, failed.Code == CodeRedirect, failed.Code == CodeBodyLimit,
		failed.Code == CodeUpload:
		a.ticket.Cancel() // this side's own doing
	case failed.Code == CodeCanceled && !errors.Is(err, context.DeadlineExceeded):
		a.ticket.Cancel()
	default:
		a.ticket.Failure(err)
	}
}
