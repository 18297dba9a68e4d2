package throttle

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/invalid"
)

// Demand is what a call asks of one key.
type Demand struct {
	Key string // what is limited: a user, a host, a whole service; not empty
	// Limits of the key. Everybody should state the same; of several the last
	// holds, and history is kept as by Limiter.SetLimits.
	Limits Limits
	Cost   Cost
}

// ValidateTake is what a Store has to say of the arguments of a Take, whatever
// it holds: *FieldErrors for all that makes no sense, or a *CostError for the
// first demand that can never be met. It and its siblings are for those who
// write a Store.
func ValidateTake(demands []Demand, lease time.Duration) error {
	p := problems(demands)
	if leased(demands) {
		checkLease(lease, &p)
	}
	if err := p.Err(); err != nil {
		return err
	}
	return unmet(demands)
}

// ValidateDemands is ValidateTake for a Peek.
func ValidateDemands(demands []Demand) error {
	p := problems(demands)
	if err := p.Err(); err != nil {
		return err
	}
	return unmet(demands)
}

// ValidateEnd is what a Store has to say of the arguments of an End.
func ValidateEnd(t Ticket, actual []Cost) error {
	p := invalid.Problems{Owner: "throttle"}
	if actual != nil && len(actual) != len(t.Demands) {
		p.Addf("Actual", "%d costs for %d demands: give one for each, or nil for what was reserved", len(actual), len(t.Demands))
	}
	return p.Err()
}

// ValidateRenew is what a Store has to say of the arguments of a Renew.
func ValidateRenew(tickets []Ticket, lease time.Duration) error {
	p := invalid.Problems{Owner: "throttle"}
	for _, t := range tickets {
		if t.Leased() {
			checkLease(lease, &p)
			break
		}
	}
	return p.Err()
}

// ValidateKey is what a Store has to say of the key of a Cooldown.
func ValidateKey(key string) error {
	p := invalid.Problems{Owner: "throttle"}
	checkKey("Key", key, &p)
	return p.Err()
}

func problems(demands []Demand) invalid.Problems {
	p := invalid.Problems{Owner: "throttle"}
	if sound(demands) {
		return p
	}
	if len(demands) == 0 {
		p.Addf("Demands", "there are none: state at least one")
	}
	for i, d := range demands {
		field := fmt.Sprintf("Demands[%d]", i)
		checkKey(field+".Key", d.Key, &p)
		if j := sameKey(demands[:i], d.Key); j >= 0 && d.Key != "" {
			p.Addf(field+".Key", "%q is that of Demands[%d] too: make one demand of them, with the sum of their costs", d.Key, j)
		}
		if err := d.Limits.Validate(); err != nil {
			addBelow(field+".Limits", err, &p)
		}
	}
	return p
}

// sound is whether there is no problem, found without naming any field.
func sound(demands []Demand) bool {
	var p invalid.Problems
	for i, d := range demands {
		if d.Key == "" || d.Limits.Concurrency < 0 || sameKey(demands[:i], d.Key) >= 0 {
			return false
		}
		for _, w := range d.Limits.Windows {
			w.check("", &p)
		}
	}
	return len(demands) > 0 && p.Err() == nil
}

func sameKey(demands []Demand, key string) int {
	return slices.IndexFunc(demands, func(d Demand) bool { return d.Key == key })
}

// addBelow adds what Limits.Validate found, under the name of the field that holds the limits.
func addBelow(field string, err error, p *invalid.Problems) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			addBelow(field, e, p)
		}
		return
	}
	if f, ok := errors.AsType[*fault.FieldError](err); ok {
		p.Addf(field+"."+f.Field, "%s", f.Problem)
	}
}

func checkKey(field, key string, p *invalid.Problems) {
	if key == "" {
		p.Addf(field, "it is empty: name what is limited")
	}
}

func checkLease(lease time.Duration, p *invalid.Problems) {
	if lease <= 0 {
		p.Addf("Lease", "%s is not positive: a concurrency needs a lease that outlives a few renewals", lease)
	}
}

func leased(demands []Demand) bool {
	for i := range demands {
		if demands[i].Limits.Concurrency > 0 {
			return true
		}
	}
	return false
}

// unmet is why one of the demands can never be met. The limiter that it names is the key.
func unmet(demands []Demand) error {
	for _, d := range demands {
		a := d.Cost.amounts()
		if err := impossible(d.Key, &a, d.Limits.Windows); err != nil {
			return err
		}
	}
	return nil
}
