package dialect

import (
	"errors"
	"time"

	"github.com/headrace/headrace/adaptive"
)

// Detector returns a detector that reads the responses that adaptive.AnswerIn finds
// in errors; nil means Auto. Dates are relative to the real clock. An error without a
// response, or with an *adaptive.RateLimitHit, is left to the next detector.
func Detector(d Dialect) adaptive.Detector {
	if d == nil {
		d = Auto
	}
	return func(err error) adaptive.Feedback {
		if hit := (*adaptive.RateLimitHit)(nil); errors.As(err, &hit) {
			return adaptive.Feedback{}
		}
		a, ok := adaptive.AnswerIn(err)
		if !ok {
			return adaptive.Feedback{}
		}
		f := d.Read(time.Now(), a.Status, a.Header, a.Body)
		f.Err = err
		return f
	}
}
