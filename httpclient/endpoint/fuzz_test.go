package endpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/fault"
)

// A map read from a file gives an endpoint within the documented bounds, or an error that names each key. No error shows the
// secret.
func FuzzConfigFromMap(f *testing.F) {
	const secret = "s3cretTweet"
	f.Fuzz(func(t *testing.T, text []byte, numbers, withSecret bool) {
		d := json.NewDecoder(bytes.NewReader(text))
		if numbers {
			d.UseNumber()
		}
		var m map[string]any
		if d.Decode(&m) != nil || m == nil {
			return
		}
		if m["secret_env"] != nil || m["api_key_env"] != nil {
			return // the environment of the test decides
		}
		if withSecret {
			m["secret"] = secret
		}
		c, err := ConfigFromMap(m)
		if err != nil {
			require.Equal(t, "", c.BaseURL)
			require.NotContains(t, err.Error(), secret)
			for _, one := range err.(interface{ Unwrap() []error }).Unwrap() {
				field, ok := errors.AsType[*fault.FieldError](one)
				require.True(t, ok, "%T", one)
				require.NotEmpty(t, field.Problem)
			}
			return
		}
		require.GreaterOrEqual(t, c.Timeout, time.Duration(0))
		require.GreaterOrEqual(t, c.MaxRetries, 0)
		require.GreaterOrEqual(t, c.MaxResponse, int64(0))
		e, err := New(c)
		require.NoError(t, err)
		require.NoError(t, e.Close())
	})
}

// A path, and what is put into its braces, never leads out of the base URL, nor
// to another host.
func FuzzPathBelowBase(f *testing.F) {
	f.Fuzz(func(t *testing.T, baseText, below, value string) {
		base, problem := parseBase(baseText)
		if problem != "" {
			require.NotContains(t, problem, "s3cret")
			return
		}
		require.Nil(t, base.User)
		names, problem := pathNames(below)
		if problem != "" || pathProblem(below) != "" {
			return
		}
		values := map[string]string{}
		for _, name := range names {
			values[name] = value
		}
		expanded, err := expand(below, values)
		if err != nil {
			return
		}
		to, err := join(base, expanded)
		if err != nil {
			return
		}
		require.Equal(t, base.Host, to.Host)
		require.Equal(t, base.Scheme, to.Scheme)
		require.Nil(t, to.User)
		require.Empty(t, to.Fragment)
		root := strings.TrimSuffix(base.EscapedPath(), "/")
		require.True(t, strings.HasPrefix(to.EscapedPath(), root), "%s below %s", to, base)
		tail := strings.ReplaceAll(strings.TrimPrefix(to.Path, strings.TrimSuffix(base.Path, "/")), `\`, "/")
		require.True(t, strings.HasPrefix(path.Clean("/base/"+tail)+"/", "/base/"), "%s climbs out of %s", to, base)
	})
}
