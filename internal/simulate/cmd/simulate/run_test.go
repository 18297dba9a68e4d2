package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	var out, errs bytes.Buffer
	require.NoError(t, run([]string{"-help"}, &out, &errs))
	assert.Contains(t, errs.String(), "-offset")
	assert.Empty(t, out.String())

	require.NoError(t, run([]string{"-seeds", "1", "-only", "Vegas", "-scenario", "cap 20", "-rows"}, &out, &errs))
	assert.Contains(t, out.String(), "cap 20    ")
	out.Reset()

	require.NoError(t, run([]string{"-only", "Vegas", "-scenario", "cap 20", "-trace", "5m"}, &out, &errs))
	assert.Contains(t, out.String(), "\t300.000\t")

	assert.Error(t, run([]string{"-nonsense"}, &out, &errs))
	assert.ErrorContains(t, run([]string{"-names", "nobody"}, &out, &errs), "none of everything, requests, nothing")
}
