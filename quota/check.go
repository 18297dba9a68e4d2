package quota

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/internal/tally"
	"github.com/headrace/headrace/throttle"
)

// Validate validates r, for implementations of Store: a *fault.FieldError for each invalid field,
// joined, or a *throttle.CostError for the first demand that can never be met.
func (r Request) Validate() error {
	p := problems(r.Demands)
	if !r.Peek && leased(r.Demands) {
		checkLease(r.Lease, &p)
	}
	if err := p.Err(); err != nil {
		return err
	}
	return unmet(r.Demands)
}

// ValidateEnd validates the arguments of an End.
func ValidateEnd(t Ticket, actual []throttle.Cost) error {
	p := invalid.Problems{Owner: "quota"}
	if actual != nil && len(actual) != len(t.Demands) {
		p.Addf("Actual", "%d costs for %d demands: give one for each, or nil for what was reserved", len(actual), len(t.Demands))
	}
	return p.Err()
}

// ValidateRenew validates the arguments of a Renew.
func ValidateRenew(tickets []Ticket, lease time.Duration) error {
	p := invalid.Problems{Owner: "quota"}
	if slices.ContainsFunc(tickets, Ticket.Leased) {
		checkLease(lease, &p)
	}
	return p.Err()
}

// ValidateCooldown validates the key of a Cooldown.
func ValidateCooldown(key string) error {
	p := invalid.Problems{Owner: "quota"}
	checkKey("Key", key, &p)
	return p.Err()
}

func problems(demands []Demand) invalid.Problems {
	p := invalid.Problems{Owner: "quota"}
	if len(demands) == 0 {
		p.Addf("Demands", "there are none: add at least one")
	}
	for i, d := range demands {
		j := slices.IndexFunc(demands[:i], func(e Demand) bool { return e.Key == d.Key })
		err := d.Limits.Validate()
		if d.Key != "" && j < 0 && err == nil {
			continue // no field name is made for a valid demand
		}
		field := fmt.Sprintf("Demands[%d]", i)
		checkKey(field+".Key", d.Key, &p)
		if j >= 0 && d.Key != "" {
			p.Addf(field+".Key", "%q is also the key of Demands[%d]: combine them into one demand with the sum of their costs", d.Key, j)
		}
		addBelow(field+".Limits", err, &p)
	}
	return p
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
		p.Addf(field, "it is empty: name the limited resource")
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

// unmet returns why the first of the demands that can never be met cannot be.
// The limiter that the error names is the key.
func unmet(demands []Demand) error {
	for i := range demands {
		d := &demands[i]
		a := tally.Amounts(d.Cost)
		for u, n := range a {
			if n < 0 || n > throttle.MaxAmount {
				return &throttle.CostError{Limiter: d.Key, Unit: throttle.Unit(u), Amount: n, Max: throttle.MaxAmount}
			}
		}
		for _, w := range d.Limits.Windows {
			if n := a[w.Unit()]; n > w.Max() {
				return &throttle.CostError{Limiter: d.Key, Unit: w.Unit(), Amount: n, Max: w.Max(), Window: w}
			}
		}
	}
	return nil
}
