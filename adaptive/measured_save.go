package adaptive

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/headrace/headrace/internal/learn"
)

// savedMeasured is what Measured keeps of a run.
type savedMeasured struct {
	Law     string `json:"law"` // "measured"
	Version int    `json:"version"`
	learn.Saved
}

const (
	lawMeasured     = "measured"
	measuredVersion = 1
)

// Save implements Saver.
func (s *measured) Save(time.Time) ([]byte, error) {
	return json.Marshal(savedMeasured{lawMeasured, measuredVersion, s.machine.Save()})
}

// Restore implements Restorer, in place of Prior.
func (m Measured) Restore(now time.Time, seed uint64, saved []byte) (State, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	var s savedMeasured
	if err := unmarshalSaved(saved, lawMeasured, &s.Law, &s); err != nil {
		return nil, err
	}
	if s.Version != measuredVersion {
		return nil, &SavedError{Law: lawMeasured, Err: fmt.Errorf("it has version %d, not %d", s.Version, measuredVersion)}
	}
	return m.start(now, seed, s.Saved), nil
}
