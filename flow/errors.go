package flow

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/headrace/headrace/node"
)

// StepError is the error of a node of a flow or of Parallel, or of a run that was stopped before it.
type StepError struct {
	Flow string
	Node string
	Step int   // from 1; in Parallel the node's place
	Err  error // the node's, or the cause of the context's end
}

// Error has the node's path.
func (e *StepError) Error() string {
	node := fmt.Sprintf("node %q: ", e.Node)
	return fmt.Sprintf("flow %q: ", e.Flow) + node + strings.TrimPrefix(fmt.Sprint(e.Err), node) // its error may begin with it
}

// Unwrap returns Err.
func (e *StepError) Unwrap() error { return e.Err }

// ActionError is the error of a node that returned an action without an edge, or in Parallel one other
// than node.Next.
type ActionError struct {
	Flow   string
	Node   string
	Action node.Action

	known []node.Action // what its edges name, in the order they were added
	joins bool          // the node is in Parallel
}

// Error lists the known actions.
func (e *ActionError) Error() string {
	if e.joins {
		return fmt.Sprintf("flow %q: node %q returned the action %s, and in Parallel only Next goes on: branch after %q, with node.Decide",
			e.Flow, e.Node, quoted(e.Action), e.Flow)
	}
	known := make([]string, len(e.known))
	for i, a := range e.known {
		known[i] = quoted(a)
	}
	return fmt.Sprintf("flow %q: node %q returned the action %s, known are %s: add an edge with On, or End",
		e.Flow, e.Node, quoted(e.Action), strings.Join(known, ", "))
}

func quoted(a node.Action) string {
	if a == node.Next {
		return "Next"
	}
	return strconv.Quote(string(a))
}

// StepsError is the error of a run longer than WithMaxSteps.
type StepsError struct {
	Flow string
	Node string // the node that would have been next
	Max  int
}

// Error names the bound and the remedy.
func (e *StepsError) Error() string {
	return fmt.Sprintf("flow %q: more than %d steps, next would be node %q: is a loop without an end? raise WithMaxSteps if not",
		e.Flow, e.Max, e.Node)
}

// nestingError says that a flow contains itself, and went deeper than anything that is meant.
type nestingError struct {
	flow  string
	depth int
}

func (e *nestingError) Error() string {
	return fmt.Sprintf("flow %q: runs nested %d deep: a flow inside itself needs an action that ends it", e.flow, e.depth)
}
