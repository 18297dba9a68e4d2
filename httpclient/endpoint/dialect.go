package endpoint

import (
	"fmt"
	"strings"

	"github.com/headrace/headrace/internal/near"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/presets/dialect"
)

// dialectOf returns the dialect of a preset provider, or of a host.
func dialectOf(provider, host string) (dialect.Dialect, error) {
	if provider == "" {
		return dialect.ByHost(host), nil
	}
	for _, p := range presets.Default().All() {
		if p.Provider == provider {
			return p.Dialect, nil
		}
	}
	if d, err := dialect.ByName(provider); err == nil {
		return d, nil
	}
	return nil, fmt.Errorf("%q is not a provider of the presets; %s", provider, meant(provider, presets.Default().Providers()))
}

// meant suggests what a misspelt name may have been.
func meant[S ~string](name string, known []S) string {
	const most = 2
	say, between, end, names := "did you mean ", " or ", "?", near.Names(name, known, most)
	if len(names) == 0 {
		say, between, end, names = "want ", ", ", "", known
	}
	texts := make([]string, len(names))
	for i, n := range names {
		texts[i] = string(n)
	}
	return say + strings.Join(texts, between) + end
}
