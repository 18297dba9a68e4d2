package presets

import (
	"time"

	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/throttle"
)

// Scaled returns the profile with a share of its limits, such as 0.8 to leave
// a fifth to somebody else, or 1.0/3 for each of three processes on one key.
//
// Amounts are rounded down, but 1 is the least: a share of a limit that is
// smaller than 1 lets more through than the share. The refill rate of a bucket
// is exact. Extra stays as it is.
//
// A share outside of 0 (exclusive) to 1 is a *fault.FieldError: more than the
// provider allows is no share of it, and a mistaken 80 would be a storm.
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
