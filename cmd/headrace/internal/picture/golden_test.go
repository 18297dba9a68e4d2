package picture_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/cmd/headrace/internal/picture"
)

var update = flag.Bool("update", false, "draw docs/demo.svg anew, of the run that it shows")

const golden = "../../../../docs/demo.svg"

// The picture in the guides shows the run in its metadata. `make demo` draws another run.
func TestThePictureIsOfItsRun(t *testing.T) {
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	_, data, _ := strings.Cut(string(want), "<metadata>")
	data, _, _ = strings.Cut(data, "</metadata>")
	var run picture.Run
	require.NoError(t, json.Unmarshal([]byte(data), &run))

	assert.NotZero(t, run.Requests)
	assert.Zero(t, run.Lost)
	assert.Equal(t, run.Requests, run.Ledger.Served, "each request was answered once")
	assert.Greater(t, len(run.Ledger.Limits), 1, "the limit moves")
	assert.NotEmpty(t, run.Display)
	assert.Contains(t, strings.Join(run.Told, "\n"), "Goodput: ")
	assert.Contains(t, strings.Join(run.Told, "\n"), run.Command)

	var got bytes.Buffer
	require.NoError(t, run.SVG(&got))
	if *update {
		require.NoError(t, os.WriteFile(golden, got.Bytes(), 0o600))
		return
	}
	assert.Equal(t, string(want), got.String(), "go test ./cmd/headrace/internal/picture -update, if that is meant")
	assert.Less(t, len(want), 60_000)
	for _, foreign := range []string{"<script", "href", "url(", "@import", "@font-face", "<image", "<foreignObject"} {
		assert.NotContains(t, string(want), foreign)
	}
}
