package presets

import (
	"time"

	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/throttle"
)

// Scaled returns the profile with a share of its limits, such as 1.0/3 for each
// of three processes on one API key. Amounts are rounded down, but not below 1.
// Extra is not scaled.
//
// A share that is not above 0 and at most 1 is a *fault.FieldError.
func (p Profile) Scaled(share float64) (Profile, error) {
	problems := invalid.Problems{Owner: "presets: " + string(p.ID)}
	if !(share > 0 && share <= 1) {
		problems.Addf("Scaled", "%g is not a share: it is above 0 and at most 1, such as 0.8", share)
		return Profile{}, problems.Err()
	}
	p = p.clone()
	// Rounded as a window is.
	p.Limits.Concurrency = int(throttle.Sliding(int64(p.Limits.Concurrency), time.Second).Scaled(share).Max())
	for i, w := range p.Limits.Windows {
		p.Limits.Windows[i] = w.Scaled(share)
	}
	problems.AddPart("Limits", p.Limits.Validate())
	if err := problems.Err(); err != nil {
		return Profile{}, err
	}
	return p, nil
}
