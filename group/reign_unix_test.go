//go:build unix

package group

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A leader knows whether there was one before it, however that has ended.
func TestALeaderKnowsThatItSucceeds(t *testing.T) {
	for name, c := range map[string]struct {
		left     []string
		succeeds bool
	}{
		"the first":                     {nil, false},
		"after one that was closed":     {[]string{".lock"}, true},
		"in the place of one that hung": {[]string{""}, true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s")
			for _, file := range c.left {
				if file != "" {
					require.NoError(t, os.WriteFile(path+file, nil, 0o600))
					continue
				}
				r, err := begin(path)
				require.NoError(t, err)
				t.Cleanup(r.close)
				require.NoError(t, os.Remove(path+".lock"))
			}
			r, err := begin(path)
			require.NoError(t, err)
			defer r.close()
			assert.Equal(t, c.succeeds, !r.leader.open.IsZero())
		})
	}
}

// However late its goroutines run, a leader that was stopped for long enough to be replaced admits no call, and
// leads no more.
func TestALeaderThatWasStoppedAdmitsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	r, err := begin(path)
	require.NoError(t, err)
	defer r.close()
	l, _, err := dial(t.Context(), path, false)
	require.NoError(t, err)
	defer l.fail(errTerm)
	write := func(f frame) {
		_, err := l.conn.Write(f.append(nil))
		require.NoError(t, err)
	}
	granted := func() (id int64, err error) {
		for f := (frame{}); err == nil; err = l.next(&f) {
			if f.kind == kindGrant {
				return f.id, nil
			}
		}
		return 0, err
	}
	open, err := json.Marshal(opening{Name: "k"})
	require.NoError(t, err)
	write(frame{kind: kindOpen, data: open})
	write(frame{kind: kindAsk, id: 1})
	id, err := granted()
	require.NoError(t, err)
	require.EqualValues(t, 1, id)

	r.leader.term.extend(time.Now()) // as if it had seen nothing since
	write(frame{kind: kindAsk, id: 2})
	_, err = granted()
	require.Error(t, err)
	<-r.leader.ctx.Done()
	assert.True(t, r.over())
}
