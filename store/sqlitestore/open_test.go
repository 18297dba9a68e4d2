package sqlitestore_test

import (
	"flag"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/store/sqlitestore"
)

// make verify plays 300 rounds.
var firstOpens = flag.Int("first-opens", 20, "how many rounds TestManyOpenANewFileAtOnce plays")

// A second process must not take a half-made file for one of another application.
func TestManyOpenANewFileAtOnce(t *testing.T) {
	dir := t.TempDir()
	for round := range *firstOpens {
		path := filepath.Join(dir, fmt.Sprintf("%d.db", round))
		var all sync.WaitGroup
		start := make(chan struct{})
		for range 16 {
			all.Go(func() {
				<-start
				j, err := sqlitestore.OpenJournal(path)
				if assert.NoError(t, err) {
					assert.NoError(t, j.Close())
				}
			})
		}
		close(start)
		all.Wait()
	}
}
