package node

import (
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/inside"
)

// Guard returns the guard of the batch's calls: to look at it, to pause it, or
// to share it with Within. It is made once, and is nil if the settings that it
// is made from are invalid, which Validate reports.
func (b *Batch[S, In, Out]) Guard() *guard.Guard { return b.made() }

// Guard returns the guard of the step's calls; see the one of Batch.
func (n *Step[S]) Guard() *guard.Guard { return n.made() }

// Inside is for package flow: the handler and the policy of the batch.
func (b *Batch[S, In, Out]) Inside(inside.Key) (handler any, policy guard.Policy) {
	return b.handler, b.policy
}

// Inside is for package flow: the policy of the step, which has no handler.
func (n *Step[S]) Inside(inside.Key) (handler any, policy guard.Policy) { return nil, n.policy }
