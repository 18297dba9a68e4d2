package flowtest

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"
)

// nextLocked is a new call about key as it is at its start.
func (p *Provider) nextLocked(key string, now time.Duration) Call {
	p.seq++
	p.attempts[key]++
	c := Call{Provider: p.name, Key: key, Seq: p.seq, Attempt: p.attempts[key], Start: now, Outcome: Running}
	if ended, ok := p.ended[key]; ok {
		c.Waited = now - ended
	}
	return c
}

// pickLocked returns how c is answered, or what has to be asked about it.
func (p *Provider) pickLocked(c Call) (s Step, rule func(Call) Step) {
	if steps := p.keys[c.Key]; len(steps) > 0 {
		p.keys[c.Key] = steps[1:]
		return steps[0], nil
	}
	if s, ok := p.at[c.Seq]; ok {
		p.played[c.Seq] = true
		return s, nil
	}
	if s, refused := p.refusalLocked(c.Start); refused {
		return s, nil
	}
	if p.rule == nil && p.behind != nil {
		return Step{forwards: true}.Taking(0), nil
	}
	return OK(), p.rule
}

// refusalLocked judges a call at now by the hidden limits.
func (p *Provider) refusalLocked(now time.Duration) (s Step, refused bool) {
	var wait time.Duration
	for _, l := range p.limits {
		if n := len(p.admitted); n >= l.most {
			wait = max(wait, p.admitted[n-l.most]+l.per-now)
		}
	}
	if wait > 0 {
		return Refuse(wait), true
	}
	p.open = slices.DeleteFunc(p.open, func(i int) bool {
		c := p.record.calls[i]
		return c.Outcome != Running && c.End <= now
	})
	return Refuse(0), p.inFlight > 0 && len(p.open) >= p.inFlight
}

// Played returns an error that names the steps that no call has reached.
func (p *Provider) Played() error {
	p.record.mu.Lock()
	defer p.record.mu.Unlock()
	var errs []error
	for _, n := range slices.Sorted(maps.Keys(p.at)) {
		if !p.played[n] {
			errs = append(errs, fmt.Errorf("flowtest: provider %q: the step at call %d was not played: there were %d calls", p.name, n, p.seq))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(p.keys)) {
		if left := len(p.keys[key]); left > 0 {
			errs = append(errs, fmt.Errorf("flowtest: provider %q: %d steps for %q were not played: there were %d calls about it",
				p.name, left, key, p.attempts[key]))
		}
	}
	return errors.Join(errs...)
}

// outcome returns what the step comes to when it has taken its time.
func (s Step) outcome() (o Outcome, status int) {
	switch {
	case s.err != nil:
		return Failed, 0
	case s.refuses:
		return Refused, s.status
	case s.status != 0:
		return Failed, s.status
	default:
		return Answered, http.StatusOK
	}
}

// answer returns the step's answer to a call about key.
func (s Step) answer(key string) (string, error) {
	switch _, status := s.outcome(); {
	case s.err != nil:
		return "", s.err
	case status >= http.StatusBadRequest:
		return "", &StatusError{StatusCode: status, Code: s.code, Header: s.header.Clone(), Body: s.body}
	case s.hasBody:
		return s.body, nil
	default:
		return key, nil
	}
}

// StatusError is the error of Call for a status from 400. Its fields are those by which limiters
// recognise errors of SDKs.
type StatusError struct {
	StatusCode int
	Code       string // what QuotaExhausted gives for a reason
	Header     http.Header
	Body       string
}

// Error has the status.
func (e *StatusError) Error() string {
	return fmt.Sprintf("status %d %s", e.StatusCode, http.StatusText(e.StatusCode))
}
