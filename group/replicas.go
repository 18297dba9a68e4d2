package group

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/headrace/headrace/fault"
)

// Replica is a replica of a service, as Replicas found it.
type Replica struct {
	// URL is where members reach the replica.
	URL string
	// Leads reports whether the replica leads the group.
	Leads bool
	// Leader is the URL of the replica that leads, if this one does not lead and knows it.
	Leader string
	// Err is why the replica cannot be used: it does not answer, or refuses the token. Nil if it answers.
	Err error
}

// Replicas asks the replicas of a service which of them is the leader, without joining the group. The address
// is that of a service, as for Join. The replicas are in the order of the address; if the leader that they
// name is not among them, it comes last. Each takes two seconds at most. An error is a *fault.FieldError
// about the address. A named leader that must not get the token (see Join) is not asked.
func Replicas(ctx context.Context, address string) ([]Replica, error) {
	if !strings.HasPrefix(address, "https:") && !strings.HasPrefix(address, "http:") {
		return nil, &fault.FieldError{Owner: "group: Replicas", Field: "address", Problem: "it is not the address of a service: use https://HOST:PORT"}
	}
	s, err := parseService(address)
	if err != nil {
		return nil, err
	}
	all, named := make([]Replica, len(s.replicas)), make([]*url.URL, len(s.replicas))
	var wg sync.WaitGroup
	for i, u := range s.replicas {
		wg.Go(func() { all[i], named[i] = s.look(ctx, u) })
	}
	wg.Wait()
	for _, at := range named {
		if at == nil || !s.trusts(at) || slices.ContainsFunc(all, func(r Replica) bool { return r.URL == at.String() }) {
			continue
		}
		r, _ := s.look(ctx, at)
		return slices.Concat(all, []Replica{r}), nil // if they name several, they are in the middle of an election
	}
	return all, nil
}

// look asks one replica, and returns the one that it names as the leader, or nil.
func (s *service) look(ctx context.Context, u *url.URL) (Replica, *url.URL) {
	r := Replica{URL: u.String()}
	conn, err := s.upgrade(ctx, u, dialTimeout)
	if err == nil {
		_ = conn.Close() // nothing was sent: that is no member
		r.Leads = true
		return r, nil
	}
	led, ok := errors.AsType[*ledError](err)
	if !ok {
		r.Err = err
		return r, nil
	}
	at := led.at(u)
	if at != nil {
		r.Leader = at.String()
	}
	return r, at
}
