package adaptive

import (
	"encoding/json"
	"fmt"
	"time"
)

// savedAIMD is what AIMD keeps of a run. The window is all that it has learned.
type savedAIMD struct {
	Law    string  `json:"law"` // "aimd"
	Window float64 `json:"window"`
}

// Save implements Saver.
func (a *aimd) Save(time.Time) ([]byte, error) {
	return json.Marshal(savedAIMD{Law: lawAIMD, Window: a.window})
}

const lawAIMD = "aimd"

// Restore implements Restorer. The number is brought within Min and Max.
func (a AIMD) Restore(now time.Time, seed uint64, saved []byte) (State, error) {
	state, err := a.Start(now, seed)
	if err != nil {
		return nil, err
	}
	var s savedAIMD
	if err := unmarshalSaved(saved, lawAIMD, &s.Law, &s); err != nil {
		return nil, err
	}
	machine := state.(*aimd) //nolint:forcetypeassert // Start returns no other
	machine.window = min(max(s.Window, float64(machine.Min)), float64(machine.Max))
	return state, nil
}

// SavedError is the error for saved data that the controller cannot restore.
type SavedError struct {
	Law string // that was asked to restore it
	Err error
}

// Error implements error.
func (e *SavedError) Error() string {
	return fmt.Sprintf("adaptive: the controller %s cannot restore this state: %v", e.Law, e.Err)
}

// Unwrap returns Err.
func (e *SavedError) Unwrap() error { return e.Err }

// unmarshalSaved decodes saved into to; the field got names the controller that saved it.
func unmarshalSaved(saved []byte, law string, got *string, to any) error {
	err := json.Unmarshal(saved, to)
	if err == nil && *got != law {
		err = fmt.Errorf("it was saved by the controller %q", *got)
	}
	if err != nil {
		return &SavedError{Law: law, Err: err}
	}
	return nil
}
