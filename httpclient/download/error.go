package download

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrBusy is in the tree of an error if another call is fetching the same target.
	ErrBusy = errors.New("another download of this target is under way")
	// ErrTooLarge is in the tree of an error if the file is longer than Config.MaxBytes.
	ErrTooLarge = errors.New("the file is longer than Config.MaxBytes allows")
	// ErrChecksum is in the tree of an error if the file does not have Config.Checksum.
	ErrChecksum = errors.New("the checksum is wrong")
)

// The steps, in their order.
const (
	stepOpen    = "open"
	stepRequest = "request"
	stepAnswer  = "answer"
	stepRead    = "read"
	stepWrite   = "write"
	stepVerify  = "verify"
	stepPublish = "publish"
)

// Error is the error of a download. Its text holds no header and no query of the request. If Step is
// "publish" the target may already be the whole new file, though a power loss may restore the old one.
type Error struct {
	Target string // as given
	// Step is what failed: "open" (the files beside the target, or the lock), "request" (no response),
	// "answer" (the response is not the file), "read" (the body broke off), "write" (to disk), "verify"
	// (checksum or length) or "publish" (syncing and renaming).
	Step string
	// Kept is how many bytes a later call can resume from. If Step is "open", or if they are of another
	// URL, bytes of an earlier call are left and not counted.
	Kept int64

	cause   error
	again   bool  // another attempt may help
	spoilt  bool  // what has come must not be kept
	noLater error // why what has come could not be kept
}

// Error implements error.
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

// Unwrap returns the cause, and why the bytes could not be kept.
func (e *Error) Unwrap() []error {
	if e.noLater == nil {
		return []error{e.cause}
	}
	return []error{e.cause, e.noLater}
}
