package endpoint

import (
	"cmp"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/internal/header"
	"github.com/headrace/headrace/internal/invalid"
)

// Validate returns a joined *fault.FieldError for each problem, or nil. It reads the Secret of an
// environment variable. No problem shows a secret.
func (c Config) Validate() error {
	owner := "endpoint"
	if c.Name != "" {
		owner += fmt.Sprintf(" %q", c.Name)
	}
	p := invalid.Problems{Owner: owner}
	c.validateURL(&p)
	if _, err := dialectOf(c.Provider, ""); err != nil {
		p.Addf("Provider", "%v", err)
	}
	switch {
	case c.Method == http.MethodConnect:
		p.Addf("Method", "CONNECT is for proxies, which Config.Proxies names; want such as POST")
	case !header.IsToken(cmp.Or(c.Method, http.MethodPost)), strings.ToUpper(c.Method) != c.Method:
		p.Addf("Method", "%q is not an HTTP method; want one such as POST, in upper case", c.Method)
	}
	if _, _, err := mime.ParseMediaType(c.contentType()); err != nil {
		p.Addf("ContentType", "%q is not a media type; want one such as application/json", c.ContentType)
	}
	secret := c.validateAuth(&p)
	c.validateHeaders(&p, secret)
	c.validateClient(&p)
	return p.Err()
}

func (c Config) validateURL(p *invalid.Problems) {
	base, problem := parseBase(c.BaseURL)
	if problem == "" {
		problem = c.refused(base)
	}
	if problem != "" {
		p.Addf("BaseURL", "%s", problem)
	}
	problem = pathProblem(c.Path)
	if problem == "" {
		_, problem = pathNames(c.Path)
	}
	if problem != "" {
		p.Addf("Path", "%s", problem)
	}
}

func (c Config) validateClient(p *invalid.Problems) {
	if c.Timeout < 0 {
		p.Addf("Timeout", "%v; want a positive duration, or 0 for that of Config", c.Timeout)
	}
	if c.MaxRetries < 0 {
		p.Addf("MaxRetries", "%d; want at least 1, or 0 for none", c.MaxRetries)
	}
	if c.MaxResponse < 0 {
		p.Addf("MaxResponse", "%d; want at least 1, or 0 for that of Config", c.MaxResponse)
	}
	if c.Client != nil {
		for _, one := range []struct {
			field string
			set   bool
		}{
			{"Config", !reflect.ValueOf(c.Config).IsZero()},
			{"Secret", !c.Secret.IsZero()},
			{"Auth", c.Auth != "" && c.Auth != AuthNone},
			{"AuthHeader", c.AuthHeader != ""},
			{"Timeout", c.Timeout > 0},
			{"MaxResponse", c.MaxResponse > 0},
		} {
			if one.set {
				p.Addf(one.field, "contradicts Client, which has its own; leave one of them out")
			}
		}
		return
	}
	if c.Timeout > 0 && c.Config.Timeouts.Call != 0 {
		p.Addf("Timeout", "contradicts Config.Timeouts.Call; leave one of them out")
	}
	if c.Timeout > 0 && c.Config.Timeouts.NoCall {
		p.Addf("Timeout", "contradicts Config.Timeouts.NoCall; leave one of them out")
	}
	if c.MaxResponse > 0 && c.Config.MaxResponse != 0 {
		p.Addf("MaxResponse", "contradicts Config.MaxResponse; leave one of them out")
	}
	if c.Config.Sign != nil && !c.Secret.IsZero() {
		p.Addf("Secret", "contradicts Config.Sign; leave one of them out")
	}
	p.AddPart("Config", c.Config.Validate())
}

// refused returns the rule of the gate that rejects every call to base, or "".
func (c Config) refused(base *url.URL) string {
	client := c.Config
	if c.Client != nil {
		client = seen().Config(c.Client)
	} else if client.Validate() != nil {
		return ""
	}
	refused, ok := errors.AsType[*httpclient.GateError](seen().Check(client, base))
	if !ok {
		return ""
	}
	return fmt.Sprintf("is rejected by rule %q of the gate: %s", refused.Rule, refused.Remedy)
}
