package node

import "fmt"

// JournalError is the error of a run that did not begin, or was stopped, because of its journal. It
// wraps a *journal.HeldError while another run has the journal, or has taken it over.
type JournalError struct {
	Node string // the batch's name
	Op   string // "open", "begin", "finish", "decode" or "renew"
	Err  error
}

// Error names the operation.
func (e *JournalError) Error() string {
	return fmt.Sprintf("node %q: the journal, %s: %v", e.Node, e.Op, e.Err)
}

// Unwrap returns Err.
func (e *JournalError) Unwrap() error { return e.Err }

// SinkError is the error of a run with a failed sink. With a journal the next run writes the results again.
type SinkError struct {
	Node string // the batch's name
	Err  error
}

// Error names the batch.
func (e *SinkError) Error() string { return fmt.Sprintf("node %q: the sink: %v", e.Node, e.Err) }

// Unwrap returns Err.
func (e *SinkError) Unwrap() error { return e.Err }

// ResultError is the error of an item with a result that a journal or a JSONLFile cannot store: it has no JSON, or its JSON
// decodes to something else.
type ResultError struct {
	Value any // the result
	Err   error
}

// Error says why the result cannot be kept.
func (e *ResultError) Error() string { return "the result cannot be kept: " + errorText(e.Err) }

// Unwrap returns Err.
func (e *ResultError) Unwrap() error { return e.Err }

// RecordedError is the error of an item that failed in an earlier run, or as a duplicate under Dedup,
// and was not tried again.
type RecordedError struct {
	Text     string // of the error that it failed with
	Attempts int    // so far
}

// Error has the recorded text.
func (e *RecordedError) Error() string {
	if e.Attempts == 1 {
		return "it failed before, after 1 attempt: " + e.Text
	}
	return fmt.Sprintf("it failed before, after %d attempts: %s", e.Attempts, e.Text)
}

// errorText is the text of err; a panic in user code has none.
func errorText(err error) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = fmt.Sprintf("its Error method panicked: %v", p)
		}
	}()
	if err == nil {
		return ""
	}
	return err.Error()
}
