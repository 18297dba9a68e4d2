package quota

import "context"

// Changed implements Waker.
func (s *memory) Changed(ctx context.Context, keys ...string) (<-chan struct{}, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	changed := make(chan struct{}, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		if s.wakes[key] == nil {
			s.wakes[key] = map[chan struct{}]struct{}{}
		}
		s.wakes[key][changed] = struct{}{}
	}
	context.AfterFunc(ctx, func() { s.unwatch(changed, keys) })
	return changed, nil
}

func (s *memory) unwatch(changed chan struct{}, keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		delete(s.wakes[key], changed)
		if len(s.wakes[key]) == 0 {
			delete(s.wakes, key)
		}
	}
}

func (s *memory) wakeAllLocked(demands []Demand) {
	for i := range demands {
		s.wakeLocked(demands[i].Key)
	}
}

// wakeLocked announces that something on key was given back.
func (s *memory) wakeLocked(key string) {
	for changed := range s.wakes[key] {
		select {
		case changed <- struct{}{}:
		default: // it was notified before and has not looked since
		}
	}
}
