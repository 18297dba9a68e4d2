package invalid_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/invalid"
)

type option func(*[]string)

func TestOptions(t *testing.T) {
	add := func(text string) option { return func(s *[]string) { *s = append(*s, text) } }
	opts := []option{add("a"), nil, add("b"), nil}

	var applied []string
	p := invalid.Problems{Owner: "throttle"}
	invalid.Options(&p, opts, &applied)
	assert.Equal(t, []string{"a", "b"}, applied)
	require.EqualError(t, p.Err(), "throttle: opts[1]: nil: leave it out\nthrottle: opts[3]: nil: leave it out")
	require.ErrorAs(t, p.Err(), new(*fault.FieldError))

	applied = nil
	invalid.Options(nil, opts, &applied)
	assert.Equal(t, []string{"a", "b"}, applied)
}
