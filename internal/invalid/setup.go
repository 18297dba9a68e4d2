package invalid

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/headrace/headrace/fault"
)

// Setup is the life of something that is configured step by step and used
// afterwards: it collects the problems of the steps, and is frozen by the
// first use, because a setting must not be read while it changes. A change
// that comes later is a problem of every use from then on. Safe for
// concurrent use, once Init has been called.
type Setup struct {
	owner string

	changing sync.Mutex // held by a change, and by the first use when it ends them; guards frozen
	frozen   bool

	mu       sync.Mutex // guards problems, late
	problems []error
	late     []error // of changes after the first use

	check   sync.Once
	verdict error

	fine atomic.Bool // Use has returned nil, and no change was refused since; written under mu
}

var errUnchecked = errors.New("the check of the settings panicked")

// Init names the owner of the problems.
func (s *Setup) Init(owner string) { s.owner = owner }

// Owner returns the name given to Init.
func (s *Setup) Owner() string { return s.owner }

// Addf records a problem with a setting.
func (s *Setup) Addf(setting, format string, args ...any) {
	p := Problems{Owner: s.owner}
	p.Addf(setting, format, args...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems = append(s.problems, p.errs...)
}

// Change runs f, which changes a setting, unless that comes too late. f may
// call Addf, and no other method.
func (s *Setup) Change(setting string, f func()) {
	s.changing.Lock()
	defer s.changing.Unlock()
	if !s.frozen {
		f()
		return
	}
	p := Problems{Owner: s.owner}
	p.Addf(setting, "it was set after the first run, which freezes all settings: move it before the run")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = append(s.late, p.errs...)
	s.fine.Store(false)
}

// Err returns the problems so far, joined. A Setup without Init is a problem: what it is in is a zero value.
func (s *Setup) Err() error {
	if s.owner == "" {
		return &fault.FieldError{Owner: "headrace", Field: "constructor", Problem: "this is a zero value: use the constructor, such as flow.New or node.Map"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(errors.Join(s.problems...), errors.Join(s.late...))
}

// Use freezes the settings and returns what is wrong with them: the verdict of
// validate, and the changes that came too late. Of several first uses at the
// same time one asks validate, which should include Err, and the others wait.
func (s *Setup) Use(validate func() error) error {
	if s.fine.Load() {
		return nil
	}
	s.freeze()
	s.check.Do(func() {
		s.verdict = errUnchecked // unless validate returns
		s.verdict = validate()
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	err := errors.Join(s.verdict, errors.Join(s.late...))
	s.fine.Store(err == nil)
	return err
}

func (s *Setup) freeze() {
	s.changing.Lock()
	defer s.changing.Unlock()
	s.frozen = true
}
