package quota

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/tally"
	"github.com/headrace/headrace/throttle"
)

// usesLocked returns how much of the windows of d is taken, under its limits.
func (s *memory) usesLocked(now instant, d *Demand) []throttle.WindowUse {
	if k := s.keys[d.Key]; k != nil {
		under := s.underLocked(now, k, d.Limits)
		return under.uses(now)
	}
	return unused(d.Limits.Windows)
}

func (l *limited) uses(now instant) []throttle.WindowUse {
	return tally.Uses(now, l.limits.Windows, l.gauges)
}

// Look implements Inspector.
func (s *memory) Look(ctx context.Context, key string) (State, error) {
	if ctx.Err() != nil {
		return State{}, context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.nowLocked()
	k := s.keys[key]
	if k == nil || s.idleLocked(now, k) {
		return State{}, nil
	}
	limits := k.limits
	limits.Windows = slices.Clone(limits.Windows)
	return State{limits, k.uses(now), len(k.slots), max(0, k.cooled-now)}, nil
}

// keysAtOnce is how many keys a listing looks at before other calls have their turn.
const keysAtOnce = 256

// Keys implements Inspector. It yields keys that were there when it began.
func (s *memory) Keys(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		s.mu.Lock()
		keys := slices.Clone(s.ring)
		s.mu.Unlock()
		var names []string // and not the keys: a slow reader would keep those that are forgotten meanwhile
		for _, k := range keys {
			if strings.HasPrefix(k.name, prefix) {
				names = append(names, k.name)
			}
		}
		for some := range slices.Chunk(names, keysAtOnce) {
			for _, name := range s.inUse(some) {
				if ctx.Err() != nil {
					yield("", context.Cause(ctx))
					return
				}
				if !yield(name, nil) {
					return
				}
			}
		}
	}
}

// inUse returns the names of keys that are not idle.
func (s *memory) inUse(names []string) (used []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.nowLocked()
	for _, name := range names {
		if k := s.keys[name]; k != nil && !s.idleLocked(now, k) {
			used = append(used, name)
		}
	}
	return used
}

// Forget implements Inspector.
func (s *memory) Forget(ctx context.Context, key string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.keys[key]
	if k == nil {
		return nil
	}
	for len(k.slots) > 0 {
		s.loseLocked(k.slots[0])
	}
	k.limited, k.cooled = limited{}, 0
	s.wakeLocked(key)
	return nil
}
