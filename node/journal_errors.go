package node

import "fmt"

// JournalError is why a run was not begun, or was stopped, because of its journal. Items whose
// result had not been recorded are pending. Err is a *journal.HeldError while another run records
// the same, and after it has taken this one over.
type JournalError struct {
	Node string // the batch's name
	Op   string // what was tried: "open", "begin", "finish", "decode" or "renew"
	Err  error
}

// Error says what was tried.
func (e *JournalError) Error() string {
	return fmt.Sprintf("node %q: the journal, %s: %v", e.Node, e.Op, e.Err)
}

// Unwrap returns Err.
func (e *JournalError) Unwrap() error { return e.Err }

// SinkError is why a run was stopped whose sink failed. With a journal nothing
// is lost: the run that goes on writes the results again.
type SinkError struct {
	Node string // the batch's name
	Err  error
}

// Error names the batch.
func (e *SinkError) Error() string { return fmt.Sprintf("node %q: the sink: %v", e.Node, e.Err) }

// Unwrap returns Err.
func (e *SinkError) Unwrap() error { return e.Err }

// ResultError is why an item failed that has a result which the journal, or a
// JSONLFile, cannot keep: it has no JSON, or its JSON would come back as something else. It is recorded as a failure.
type ResultError struct {
	Value any // the result
	Err   error
}

// Error says why the result cannot be kept.
func (e *ResultError) Error() string { return "the result cannot be kept: " + errorText(e.Err) }

// Unwrap returns Err.
func (e *ResultError) Unwrap() error { return e.Err }

// RecordedError is the error of an item that failed in an earlier run, or as another of
// the same content under Dedup, and was not tried again: see RetryFailed.
type RecordedError struct {
	Text     string // of the error that it failed with
	Attempts int    // so far
}

// Error says what the item failed with.
func (e *RecordedError) Error() string {
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
