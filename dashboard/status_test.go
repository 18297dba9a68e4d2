package dashboard

import (
	"encoding/json"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

func TestStatusHasTheUseOfWindows(t *testing.T) {
	hour := throttle.Sliding(3, time.Hour)
	l := limiter("api", time.Unix(0, 0), &guard.Stats{
		Windows:  []throttle.WindowUse{{Window: hour, Spent: 4, Left: -1, FreesIn: 90 * time.Second, ResetsIn: time.Hour}},
		Degraded: errors.New("no answer in time"),
	}, 0, 0)
	assert.Equal(t, []Window{{Window: hour.String(), Used: 4, Left: -1, FreesIn: 90}}, l.Windows)
	assert.Equal(t, "no answer in time", l.Degraded)
}

func TestStatusHasTheKeysThatRefuseMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var table atomic.Pointer[[]Key]
		table.Store(&[]Key{})
		d, _ := inBubble(t, Config{Keys: func() []Key { return *table.Load() }})
		defer d.Close()
		assert.Equal(t, []Key{}, d.Status().Keys, "a table without rows")
		var all []Key
		for i := range 2 * mostKeys {
			all = append(all, Key{Name: "user/" + strconv.Itoa(i) + "/search", Refused: int64(1000 - i)})
		}
		table.Store(&all)
		time.Sleep(fineEvery)
		synctest.Wait()
		assert.Equal(t, all[:mostKeys], d.Status().Keys)
		text, err := json.Marshal(d.board.delta(time.Now(), false, true))
		require.NoError(t, err)
		assert.Contains(t, string(text), `"keys":[{"name":"user/0/search","refused":1000},`)
		text, err = json.Marshal(d.board.delta(time.Now(), false, false))
		require.NoError(t, err)
		assert.Contains(t, string(text), `"keys":null`, "as they were")
		without, _ := inBubble(t, Config{})
		defer without.Close()
		assert.Nil(t, without.Status().Keys, "there is no table")
	})
}
