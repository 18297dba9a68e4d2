package node

import (
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/inside"
	"github.com/headrace/headrace/journal"
)

// Guard returns the guard of the batch's calls, to inspect, pause or share it. It is nil if the
// settings are invalid: see Validate.
func (b *Batch[S, In, Out]) Guard() *guard.Guard { return b.made() }

// Guard returns the guard of the step's calls. See Batch.Guard.
func (n *Step[S]) Guard() *guard.Guard { return n.made() }

// Inside is for package flow.
func (s *settings) Inside(inside.Key) (policy guard.Policy, handler any, j journal.Journal) {
	return s.policy, s.shown, s.journal
}
