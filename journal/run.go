package journal

import "context"

// DefaultRun is the name of a run that was not given one.
const DefaultRun = "default"

type runKey struct{}

// WithRun names the run that goes on under ctx. The same name in a later process
// goes on with what is recorded under it.
func WithRun(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, runKey{}, name)
}

// RunFrom returns the name of the run that goes on under ctx, or DefaultRun.
func RunFrom(ctx context.Context) string {
	if name, ok := ctx.Value(runKey{}).(string); ok {
		return name
	}
	return DefaultRun
}
