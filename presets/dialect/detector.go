package dialect

import (
	"errors"
	"time"

	"github.com/headrace/headrace/adaptive"
)

// Detector returns a detector for adaptive.Config that reads the answers in
// errors by d; nil is Auto. What adaptive.AnswerIn finds in the error is read:
// of the official SDKs of OpenAI and Anthropic that is everything. An error
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
		if len(a.Body) == 0 {
			complete(&f, adaptive.DefaultDetector(err))
		}
		f.Err = err
		return f
	}
}

// complete takes over what another detector has learnt from the fields and the
// text of an error that keeps no body.
func complete(f *adaptive.Feedback, other adaptive.Feedback) {
	if f.Verdict != adaptive.Hit {
		return
	}
	if other.Verdict == adaptive.Terminal || other.Verdict == adaptive.OK {
		f.Verdict = other.Verdict
		f.Kind, f.SlowDown = adaptive.UnknownKind, false
	}
	if f.Verdict == adaptive.Hit && f.Kind == adaptive.UnknownKind {
		f.Kind = other.Kind
	}
}
