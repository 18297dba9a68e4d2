package provider

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"

	"github.com/headrace/headrace/providertest"
)

// Faults are the fractions of requests that fail on purpose.
type Faults struct {
	Error float64 // 500
	Full  float64 // 503, or 529 of Anthropic
	Cut   float64 // the connection is closed before the response
	Hang  float64 // the response never ends

	Key string // 401 without it; if empty, no key is required
}

// Validate returns an error if the fractions are out of range.
func (f Faults) Validate() error {
	var all []error
	for _, s := range []struct {
		flag  string
		share float64
	}{{"--faults", f.Error}, {"--full", f.Full}, {"--cut", f.Cut}, {"--hang", f.Hang}} {
		if !(s.share >= 0 && s.share <= 1) {
			all = append(all, fmt.Errorf("%s: %g is not a fraction from 0 to 1", s.flag, s.share))
		}
	}
	if sum := f.Error + f.Full + f.Cut + f.Hang; len(all) == 0 && sum > 1 {
		all = append(all, fmt.Errorf("--faults, --full, --cut and --hang add up to %g of all requests: the maximum is 1", sum))
	}
	return errors.Join(all...)
}

// Draw returns a function that picks faults at random, or nil if there are none.
func (f Faults) Draw(seed uint64) func(providertest.Request) *providertest.Fault {
	if f == (Faults{}) {
		return nil
	}
	var mu sync.Mutex                        // guards random
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // nothing secret is drawn
	return func(r providertest.Request) *providertest.Fault {
		if f.Key != "" && r.Header.Get("Authorization") != "Bearer "+f.Key && r.Header.Get("X-Api-Key") != f.Key && r.Header.Get("Api-Key") != f.Key {
			return &providertest.Fault{Status: http.StatusUnauthorized}
		}
		mu.Lock()
		share := random.Float64()
		mu.Unlock()
		for _, one := range []struct {
			share float64
			fault *providertest.Fault
		}{
			{f.Error, &providertest.Fault{Status: http.StatusInternalServerError}},
			{f.Full, providertest.Overloaded()},
			{f.Cut, &providertest.Fault{Break: providertest.BreakHeader}},
			{f.Hang, &providertest.Fault{Admit: true, Break: providertest.BreakStall}},
		} {
			if share -= one.share; share < 0 {
				return one.fault
			}
		}
		return nil
	}
}
