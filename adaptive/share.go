package adaptive

import (
	"encoding/json"

	"github.com/headrace/headrace/internal/hook"
)

// sharer scales what a law has saved to a part of the limit, for a process that
// uses only that. Package group sees it through package hook.
type sharer struct {
	scale func(saved []byte, share float64) ([]byte, error)
}

// Share returns saved for a part of the limit, above 0 and at most 1.
func (s sharer) Share(saved []byte, share float64) ([]byte, error) { return s.scale(saved, share) }

// parted is the sharer of a law that can use a part of the limit itself. Package
// guard sees it through package hook.
type parted struct {
	sharer
	law Measured
}

// Part returns the controller for a part of what the provider allows, above 0 and below 1.
func (p parted) Part(share float64) Law {
	p.law.share = share
	return p.law
}

func init() { //nolint:gochecknoinits // see package hook
	hook.Register(func(m Measured) any {
		return parted{sharer{func(saved []byte, share float64) ([]byte, error) {
			return scaled(saved, lawMeasured, func(s *savedMeasured) { s.Saved = s.Scaled(share) })
		}}, m}
	})
	hook.Register(func(AIMD) any {
		return sharer{func(saved []byte, share float64) ([]byte, error) {
			return scaled(saved, lawAIMD, func(s *savedAIMD) { s.Window = max(1, s.Window*share) })
		}}
	})
}

// scaled is saved, of law, after scale.
func scaled[S any](saved []byte, law string, scale func(*S)) ([]byte, error) {
	var of struct{ Law string }
	if err := unmarshalSaved(saved, law, &of.Law, &of); err != nil {
		return nil, err
	}
	var s S
	if err := json.Unmarshal(saved, &s); err != nil {
		return nil, &SavedError{Law: law, Err: err}
	}
	scale(&s)
	return json.Marshal(s)
}
