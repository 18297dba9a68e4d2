package presets

import (
	"fmt"
	"math"
	"strconv"
	"strings"

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
// A share outside of 0 (exclusive) to 1 is a *throttle.FieldError: more than the
// provider allows is no share of it, and a mistaken 80 would be a storm.
func (p Profile) Scaled(share float64) (Profile, error) {
	problems := invalid.Problems{Owner: "presets: " + string(p.ID)}
	if !(share > 0 && share <= 1) {
		problems.Addf("Scaled", "%g is not a share: it is above 0 and at most 1, such as 0.8", share)
		return Profile{}, problems.Err()
	}
	p = p.clone()
	if p.Limits.Concurrency > 0 {
		p.Limits.Concurrency = int(part(int64(p.Limits.Concurrency), share))
	}
	for i, w := range p.Limits.Windows {
		scaled, err := scaleWindow(w, share)
		if err != nil {
			problems.AddPart(fmt.Sprintf("Limits.Windows[%d]", i), err)
			continue
		}
		p.Limits.Windows[i] = scaled
	}
	if err := problems.Err(); err != nil {
		return Profile{}, err
	}
	return p, nil
}

// part is share of n, rounded down; a hair above, so that 0.29 of 1000 is 290.
func part(n int64, share float64) int64 {
	return min(n, max(1, int64(math.Floor(float64(n)*share*(1+0x1p-50)))))
}

// scaleWindow goes over the text of a window, which alone tells its algorithm,
// period and anchor.
func scaleWindow(w throttle.Window, share float64) (throttle.Window, error) {
	n := part(w.Max(), share)
	text := w.String()
	if strings.HasPrefix(text, "bucket ") {
		return throttle.Bucket(w.Rate()*share, n).Of(w.Unit()), nil
	}
	// "500/min" or "fixed 500 tokens/day@UTC": the first number is the Max.
	text = strings.Replace(text, strconv.FormatInt(w.Max(), 10), strconv.FormatInt(n, 10), 1)
	var scaled throttle.Window
	err := scaled.UnmarshalText([]byte(text))
	return scaled, err
}
