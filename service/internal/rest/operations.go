package rest

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/service/internal/decide"
)

func (h *Handler) check(w http.ResponseWriter, r *http.Request, x *scratch) error {
	var in checkIn
	if !in.scan(x.body.String()) {
		if err := decode(&x.body, &in); err != nil {
			return h.invalid(r, err)
		}
	}
	c, err := in.check("")
	if err != nil {
		return h.invalid(r, err)
	}
	res, err := h.d.Check(r.Context(), c)
	if err != nil {
		return err
	}
	x.fields.result(&res, res.RetryAfter, res.Allowed)
	out := resultOf(&res, res.Allowed)
	out.Permit = res.Permit
	x.out = out.appendObject(x.out)
	x.send(w, status(res.Allowed))
	return nil
}

func (h *Handler) checkAll(w http.ResponseWriter, r *http.Request, x *scratch) error {
	var in allIn
	if err := decode(&x.body, &in); err != nil {
		return h.invalid(r, err)
	}
	if in.MaxWait != nil {
		return h.invalid(r, bad("max_wait_seconds", "it is for /acquire: leave it out"))
	}
	cs, err := in.list()
	if err != nil {
		return h.invalid(r, err)
	}
	a, err := h.d.CheckAll(r.Context(), cs)
	if err != nil {
		return err
	}
	h.all(w, x, &a)
	return nil
}

func (h *Handler) acquire(w http.ResponseWriter, r *http.Request, x *scratch) error {
	var in allIn
	if err := decode(&x.body, &in); err != nil {
		return h.invalid(r, err)
	}
	cs, err := in.list()
	if err != nil {
		return h.invalid(r, err)
	}
	wait, err := in.wait()
	if err != nil {
		return h.invalid(r, err)
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(wait + answerTime)) // a recorder has none
	a, err := h.d.Acquire(r.Context(), cs, wait)
	if err != nil {
		return err
	}
	h.all(w, x, &a)
	return nil
}

// invalid records a check that the decider does not get, because of err, which it returns.
func (h *Handler) invalid(r *http.Request, err error) error {
	if errors.As(err, new(*fault.FieldError)) {
		h.d.Invalid(r.Context())
	}
	return err
}

// answerTime is how long a client may take to read an answer.
const answerTime = 30 * time.Second

func (h *Handler) batch(w http.ResponseWriter, r *http.Request, x *scratch) error {
	var in struct {
		Checks []checkIn `json:"checks"`
	}
	if err := decode(&x.body, &in); err != nil {
		return h.invalid(r, err)
	}
	n := len(in.Checks)
	if n == 0 || n > decide.MaxBatch {
		return h.invalid(r, bad("checks", "%d checks are not between 1 and %d", n, decide.MaxBatch))
	}
	out, cs, at := make([]resultOut, n), make([]decide.Check, 0, n), make([]int, 0, n)
	for i := range in.Checks {
		c, err := in.Checks[i].check("")
		if err != nil {
			x := &in.Checks[i]
			out[i] = h.failed(r, named{cmp.Or(x.Scope, decide.DefaultScope), x.Identifier, x.Resource}, h.invalid(r, err))
			continue
		}
		cs, at = append(cs, c), append(at, i)
	}
	var all []decide.Outcome
	if len(cs) > 0 {
		var err error
		if all, err = h.d.Batch(r.Context(), cs); err != nil {
			return err
		}
	}
	for i := range all {
		o := &out[at[i]]
		if err := all[i].Err; err != nil {
			if r.Context().Err() != nil {
				return err
			}
			*o = h.failed(r, namedOf(&all[i].Check), err)
			continue
		}
		*o = resultOf(&all[i].Result, all[i].Allowed)
		o.named, o.Permit = namedOf(&all[i].Check), all[i].Permit
	}
	x.out = append(appendResults(append(x.out, '{'), out), '}')
	x.send(w, http.StatusOK)
	return nil
}

// failed is the result of a check of a batch that has an error.
func (h *Handler) failed(r *http.Request, of named, err error) resultOut {
	p := h.problem(r, err)
	return resultOut{named: of, Error: &errorOut{p.Code, p.Detail, p.Field}, Degraded: p.reason, RetryAfter: p.retryAfter}
}

func (h *Handler) settle(w http.ResponseWriter, r *http.Request, x *scratch) error {
	var in struct {
		Permit string   `json:"permit"`
		Used   *amounts `json:"tokens_used"`
	}
	if err := decode(&x.body, &in); err != nil {
		return err
	}
	if in.Permit == "" {
		return bad("permit", "it is missing: give that of a check")
	}
	if in.Used == nil {
		return bad("tokens_used", "it is missing: give the tokens that were used, or a list with one number for each check")
	}
	err := h.d.Settle(r.Context(), in.Permit, *in.Used)
	if f, ok := errors.AsType[*fault.FieldError](err); ok {
		return bad("tokens_used"+strings.TrimPrefix(f.Field, "actual"), "%s", f.Problem)
	}
	if err != nil {
		return err
	}
	write(w, http.StatusOK, map[string]bool{"settled": true})
	return nil
}

func (h *Handler) cancel(w http.ResponseWriter, r *http.Request, x *scratch) error {
	var in struct {
		Permit string `json:"permit"`
	}
	if err := decode(&x.body, &in); err != nil {
		return err
	}
	if in.Permit == "" {
		return bad("permit", "it is missing: give that of a check")
	}
	if err := h.d.Cancel(r.Context(), in.Permit); err != nil {
		return err
	}
	write(w, http.StatusOK, map[string]bool{"cancelled": true})
	return nil
}

// bucket is GET and DELETE of one limit.
func (h *Handler) bucket(w http.ResponseWriter, r *http.Request) error {
	parts := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), buckets), "/")
	if len(parts) != 3 {
		return bad("path", "it is not %s{scope}/{identifier}/{resource}: escape a slash as %%2F", buckets)
	}
	for i, p := range parts {
		text, err := url.PathUnescape(p)
		if err != nil || text == "" {
			return bad("path", "a part of it is empty, or wrongly escaped")
		}
		parts[i] = text
	}
	if r.Method == http.MethodDelete {
		if err := h.d.Forget(r.Context(), parts[0], parts[1], parts[2]); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	b, err := h.d.Bucket(r.Context(), parts[0], parts[1], parts[2])
	if err != nil {
		return err
	}
	out := bucketOut{
		Scope: b.Scope, Identifier: b.Identifier, Resource: b.Resource, Rule: b.Rule, Remaining: b.Remaining, Capacity: b.Capacity, ResetAt: when(b.ResetAt),
		Degraded: b.Degraded != "", DegradedReason: b.Degraded,
	}
	for _, x := range b.Windows {
		o := windowOut{Name: x.Name, Quota: x.Quota, Left: x.Left, ResetsIn: seconds(x.ResetsIn)}
		if x.Per > 0 {
			o.Per = new(seconds(x.Per))
		}
		out.Windows = append(out.Windows, o)
	}
	write(w, http.StatusOK, &out)
	return nil
}
