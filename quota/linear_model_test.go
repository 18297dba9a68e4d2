package quota_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// storeState is what a model knows. It is never changed, but replaced.
type storeState struct {
	now     time.Duration
	highest int64 // token
	tickets []taken
}

func (s storeState) at(token int64) int {
	return slices.IndexFunc(s.tickets, func(k taken) bool { return k.token == token })
}

// without returns s without the tickets that are over.
func (s storeState) without(over func(taken) bool) storeState {
	s.tickets = slices.DeleteFunc(slices.Clone(s.tickets), over)
	return s
}

// with returns s with a change to one of its tickets.
func (s storeState) with(i int, change func(*taken)) storeState {
	s.tickets = slices.Clone(s.tickets)
	change(&s.tickets[i])
	return s
}

func model(step func(s storeState, in storeCall, got storeAnswer) (bool, storeState)) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return storeState{} },
		Step: func(state, in, out any) (bool, any) {
			s, call, got := state.(storeState), in.(storeCall), out.(storeAnswer)
			if call.op == '+' {
				s.now += call.by
				return true, s
			}
			return step(s, call, got)
		},
		Equal: func(a, b any) bool {
			x, y := a.(storeState), b.(storeState)
			return x.now == y.now && x.highest == y.highest && slices.Equal(x.tickets, y.tickets)
		},
		DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v %+v", in, out) },
	}
}

// granted is a step of Take that was granted: tokens only grow.
func (s storeState) granted(in storeCall, got storeAnswer) (bool, storeState) {
	s.tickets = append(slices.Clone(s.tickets), taken{got.token, in.weight, s.now, s.now + leaseTime})
	legal := got.token > s.highest
	s.highest = got.token
	return legal, s
}

// leaseModel is a list of leases, each with its end.
func leaseModel() porcupine.Model {
	return model(func(s storeState, in storeCall, got storeAnswer) (bool, storeState) {
		s = s.without(func(k taken) bool { return k.lapses <= s.now })
		if in.op == 't' {
			free := len(s.tickets) < mostSlots
			if !got.ok || !free {
				return got.ok == free, s
			}
			return s.granted(in, got)
		}
		i := s.at(in.ticket)
		switch {
		case i < 0 || !got.ok:
			return i < 0 && !got.ok, s
		case in.op == 'r':
			return true, s.with(i, func(k *taken) { k.lapses = s.now + leaseTime })
		default:
			return true, s.without(func(k taken) bool { return k.token == in.ticket })
		}
	})
}

// windowModel is a list of what was taken, which counts for the length of the window. What a call used beyond what
// it took counts from the moment that it is reported.
func windowModel() porcupine.Model {
	return model(func(s storeState, in storeCall, got storeAnswer) (bool, storeState) {
		s = s.without(func(k taken) bool { return k.at+window <= s.now })
		if in.op == 't' {
			used := in.weight
			for _, k := range s.tickets {
				used += k.weight
			}
			if fits := used <= mostUnits; !got.ok || !fits {
				return got.ok == fits, s
			}
			return s.granted(in, got)
		}
		if more := in.used - in.weight; more > 0 {
			s.tickets = append(slices.Clone(s.tickets), taken{weight: more, at: s.now})
		} else if i := s.at(in.ticket); i >= 0 {
			s = s.with(i, func(k *taken) { k.weight = in.used })
		}
		return got.ok, s
	})
}
