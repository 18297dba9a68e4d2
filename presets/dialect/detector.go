package dialect

import (
	"errors"
	"time"

	"github.com/headrace/headrace/adaptive"
)

// Detector returns a detector that reads the answers in
// errors by d; nil is Auto. What adaptive.AnswerIn finds in the error is read:
// of the official SDKs of OpenAI and Anthropic that is everything. Dates in it
// are counted from now by the real clock, whatever the limiter's is. An error
// without an answer, and one that holds a *adaptive.RateLimitHit of the user's
// own, is not judged, which leaves it to the next detector.
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
