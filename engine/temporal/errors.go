package temporal

import (
	"errors"

	sdk "go.temporal.io/sdk/temporal"

	"github.com/headrace/headrace/engine"
)

// Types of application errors, as the history has them.
const (
	typeFailed = "headrace.Failed" // its details are an engine.RemoteError
	typeAgain  = "headrace.Again"  // an attempt that is repeated after its next retry delay
)

// failed is err as the failure of an activity, which is not repeated.
func failed(err error) error { return failure(engine.Remote(err), true) }

func failure(r *engine.RemoteError, final bool) error {
	return sdk.NewApplicationErrorWithOptions(r.Message, typeFailed, sdk.ApplicationErrorOptions{NonRetryable: final, Details: []any{*r}})
}

// remote is what an activity, a child workflow or a run has failed with.
func remote(err error) *engine.RemoteError {
	if app, ok := errors.AsType[*sdk.ApplicationError](err); ok && app.Type() == typeFailed && app.HasDetails() {
		var r engine.RemoteError
		if app.Details(&r) == nil {
			return &r
		}
	}
	return engine.Remote(err)
}
