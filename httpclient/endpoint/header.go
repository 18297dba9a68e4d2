package endpoint

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/header"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/internal/redact"
)

func (c Config) validateHeaders(p *invalid.Problems, secret string) {
	seen := map[string]string{}
	auth := c.authName()
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		field, canonical, value := fmt.Sprintf("Headers[%s]", name), http.CanonicalHeaderKey(name), c.Headers[name]
		switch {
		case !header.IsToken(name):
			p.Addf("Headers", "%q is not a header name", header.Shown(name))
			continue
		case seen[canonical] != "":
			p.Addf(field, "is %s again; leave one out", seen[canonical])
		case canonical == auth:
			p.Addf(field, "is the header in which Auth sends the Secret; leave one of them out")
		case header.Reserved(name) != "":
			p.Addf(field, "%s", header.Reserved(name))
		}
		seen[canonical] = name
		if problem := header.ValueProblem(value); problem != "" && value != "" {
			p.Addf(field, "the value %s", problem)
		}
		if len(secret) >= redact.MinSecret && strings.Contains(value, secret) {
			p.Addf(field, "contains the Secret, which Auth sends; leave it out here")
		}
	}
	if len(secret) >= redact.MinSecret && strings.Contains(c.BaseURL+c.Path, secret) {
		p.Addf("BaseURL", "it or Path contains the Secret, which Auth sends; leave it out here")
	}
}
