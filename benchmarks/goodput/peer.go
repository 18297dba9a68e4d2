package goodput

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/provider"
	"github.com/headrace/headrace/internal/simulate/rival"
)

// peerWorkers is more than the largest pool of a peer.
const peerWorkers = 208

// peer is a controller of another project: the simulator's model of it decides
// when the calls of a real run are sent.
func peer(name, about string) Contender {
	all := rival.All()
	model := all[slices.IndexFunc(all, func(c client.Contender) bool { return c.Name == name })]
	return Contender{
		Name: name, About: about, Workers: peerWorkers, Simulated: &model,
		Start: func(w *wire, seed uint64) (Caller, error) {
			policy, err := model.New(client.Seat{Seed: seed, Pool: poolWorkers, Processes: w.processes})
			if err != nil {
				return nil, err
			}
			d := &desk{policy: policy, begin: time.Now()}
			return func(ctx context.Context) error { return w.by(ctx, d) }, nil
		},
	}
}

// by sends a call when d allows it, until it is served.
func (w *wire) by(ctx context.Context, d *desk) error {
	v := d.enter(&client.Call{})
	for {
		if err := d.wait(ctx, v); err != nil {
			return err
		}
		answer, err := w.attempt(ctx)
		backoff := d.answered(v, answer)
		switch {
		case err != nil || answer.Admitted:
			return err
		case !sleep(ctx, backoff):
			return context.Cause(ctx)
		}
		d.again(v)
	}
}

// attempt makes one attempt; what fails is not admitted.
func (w *wire) attempt(ctx context.Context) (*provider.Answer, error) {
	request, err := w.request(ctx)
	if err != nil {
		return &provider.Answer{}, err
	}
	response, err := whole{w.transport}.RoundTrip(request)
	if err != nil {
		return &provider.Answer{}, err
	}
	defer response.Body.Close()
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After")) // without one it is 0
	return &provider.Answer{
		Admitted: response.StatusCode == http.StatusOK, RetryAfter: time.Duration(seconds) * time.Second,
	}, nil
}
