//go:build !otlp

package gateway

import "context"

// export exports nothing: what does would make the program half as large again.
func export(_ context.Context, o *Options) (exporters, error) {
	for _, name := range otlpVariables() {
		if o.Getenv(name) != "" {
			o.Log.Warn(name + " is set, and this build cannot send OTLP: build headrace with -tags otlp; /metrics is in every build")
			break
		}
	}
	return exporters{}, nil
}
