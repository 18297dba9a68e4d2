package download

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrBusy is in the tree of an error if another call fetches the same target.
	ErrBusy = errors.New("another download of this target is under way")
	// ErrTooLarge is in the tree of an error if the file is longer than WithMaxBytes allows.
	ErrTooLarge = errors.New("the file is longer than WithMaxBytes allows")
)

// Step is what failed.
type Step string

// The steps, in their order.
const (
	StepOpen    Step = "open"    // the files beside the target, and the lock
	StepRequest Step = "request" // no answer came
	StepAnswer  Step = "answer"  // one came that is not the file
	StepRead    Step = "read"    // the body broke off
	StepWrite   Step = "write"   // to the disk
	StepVerify  Step = "verify"  // checksum or length
	StepPublish Step = "publish" // syncing and renaming
)

// Error is how a download fails. Its text has neither headers nor the URL's query of the request.
// If Step is StepPublish the target may be the new file already, whole,
// though a loss of power may bring the old one back.
type Error struct {
	Target string // as it was given
	Step   Step
	// Kept is how many bytes a later call need not fetch again. With 0 there are none. What an earlier call has left is still
	// there if Step is StepOpen, or if it was of another URL and nothing came in its place.
	Kept int64

	cause   error
	again   bool  // another attempt may help
	spoilt  bool  // what has come must not be kept
	noLater error // why what has come could not be kept
}

// Error says what failed for which target, and what is kept.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "download: %q: %s: %v", e.Target, e.Step, e.cause)
	if e.Kept > 0 {
		fmt.Fprintf(&b, " (%d bytes are kept for a later call)", e.Kept)
	}
	if e.noLater != nil {
		fmt.Fprintf(&b, " (keeping what has come failed: %v)", e.noLater)
	}
	return b.String()
}

// Unwrap returns the causes: of the failure, and of why what had come could not be kept.
func (e *Error) Unwrap() []error {
	if e.noLater == nil {
		return []error{e.cause}
	}
	return []error{e.cause, e.noLater}
}

// ChecksumError says that the file is not the one that was meant.
type ChecksumError struct {
	Want, Got string // such as "sha256:" and hexadecimal digits
}

// Error gives both.
func (e *ChecksumError) Error() string {
	return "the checksum is " + e.Got + "; want " + e.Want
}
