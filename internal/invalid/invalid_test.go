package invalid_test

import (
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/invalid"
)

func TestProblems(t *testing.T) {
	for _, tc := range []struct {
		name   string
		record func(p *invalid.Problems)
		want   string // "" for no error
	}{
		{"none", func(*invalid.Problems) {}, ""},
		{"nil is no problem", func(p *invalid.Problems) { p.Add(nil) }, ""},
		{"one", func(p *invalid.Problems) { p.Addf("Max", "%d is below %d", 1, 2) }, "throttle: Max: 1 is below 2"},
		{"no arguments", func(p *invalid.Problems) { p.Addf("Max", "missing") }, "throttle: Max: missing"},
		{"another's error as it is", func(p *invalid.Problems) { p.Add(io.EOF) }, "EOF"},
		{
			"all, in order",
			func(p *invalid.Problems) { p.Addf("B", "b"); p.Add(io.EOF); p.Addf("A", "a") },
			"throttle: B: b\nEOF\nthrottle: A: a",
		},
	} {
		p := invalid.Problems{Owner: "throttle"}
		tc.record(&p)
		if tc.want == "" {
			assert.NoError(t, p.Err(), tc.name)
		} else {
			assert.EqualError(t, p.Err(), tc.want, tc.name)
		}
	}
}

func TestProblemsCanBeMatched(t *testing.T) {
	p := invalid.Problems{Owner: "retry"}
	p.Addf("Initial", "too long")
	p.Add(io.EOF)
	err := p.Err()

	var field *fault.FieldError
	require.True(t, errors.As(err, &field))
	assert.Equal(t, fault.FieldError{Owner: "retry", Field: "Initial", Problem: "too long"}, *field)
	assert.ErrorIs(t, err, io.EOF)
}
