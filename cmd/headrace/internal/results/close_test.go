package results_test

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/cmd/headrace/internal/requests"
	"github.com/headrace/headrace/cmd/headrace/internal/results"
)

// Files without a line are removed by the process that has them open, and not those of the next one.
func TestTheNextProcessKeepsItsFiles(t *testing.T) {
	dir := t.TempDir()
	out, errs := filepath.Join(dir, "o"), filepath.Join(dir, "e")
	var both sync.WaitGroup
	for range 8 {
		both.Go(func() {
			for range 500 {
				f, err := results.OpenFiles(out, errs, requests.OpenAI)
				if err != nil {
					assert.ErrorContains(t, err, "is being written by another process")
					continue
				}
				assert.FileExists(t, out)
				assert.FileExists(t, errs)
				assert.NoError(t, f.Close())
			}
		})
	}
	both.Wait()
	f, err := results.OpenFiles(out, errs, requests.OpenAI)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// A process that does not get the file of failures leaves no empty file for results, and names the flag to change.
func TestAFileOfFailuresThatIsInUse(t *testing.T) {
	dir := t.TempDir()
	errs := filepath.Join(dir, "e")
	first, err := results.OpenFiles(filepath.Join(dir, "o"), errs, requests.OpenAI)
	require.NoError(t, err)
	defer func() { assert.NoError(t, first.Close()) }()

	_, err = results.OpenFiles(filepath.Join(dir, "other"), errs, requests.OpenAI)

	require.ErrorContains(t, err, "use another --errors")
	assert.NoFileExists(t, filepath.Join(dir, "other"))
}
