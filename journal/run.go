package journal

import "context"

// DefaultRun is the name of a run without one.
const DefaultRun = "default"

type runKey struct{}

// WithRun names the run under ctx, to be resumed by that name.
func WithRun(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, runKey{}, name)
}

// RunFrom returns the name of the run under ctx, or DefaultRun.
func RunFrom(ctx context.Context) string {
	if name, ok := ctx.Value(runKey{}).(string); ok {
		return name
	}
	return DefaultRun
}
