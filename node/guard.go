package node

import (
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/inside"
	"github.com/headrace/headrace/journal"
)

// Guard returns the guard of the batch's calls: to look at it, to pause it, or
// to share it with Within. It is made once, and is nil if the settings that it
// is made from are invalid, which Validate reports.
func (b *Batch[S, In, Out]) Guard() *guard.Guard { return b.made() }

// Guard returns the guard of the step's calls; see the one of Batch.
func (n *Step[S]) Guard() *guard.Guard { return n.made() }

// Inside is for package flow: what is set for the node's calls, and of a batch
// the handler and the journal.
func (s *settings) Inside(inside.Key) (policy guard.Policy, handler any, j journal.Journal) {
	return s.policy, s.shown, s.journal
}
