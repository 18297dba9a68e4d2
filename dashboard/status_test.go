package dashboard

import (
	"encoding/json"
	"errors"
	"strconv"
	"testing"
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
	var all []Key
	s := serve(t, Config{Keys: func() []Key { return all }})
	s.look(time.Now().Add(time.Minute))
	assert.Equal(t, []Key{}, s.Status().Keys, "a table without rows")
	for i := range 2 * mostKeys {
		all = append(all, Key{Name: "user/" + strconv.Itoa(i) + "/search", Refused: int64(1000 - i)})
	}
	s.look(time.Now().Add(2 * time.Minute))
	assert.Equal(t, all[:mostKeys], s.Status().Keys)
	text, err := json.Marshal(s.board.delta(time.Now(), false, true))
	require.NoError(t, err)
	assert.Contains(t, string(text), `"keys":[{"name":"user/0/search","refused":1000},`)
	text, err = json.Marshal(s.board.delta(time.Now(), false, false))
	require.NoError(t, err)
	assert.Contains(t, string(text), `"keys":null`, "as they were")
	assert.Nil(t, serve(t, Config{}).Status().Keys, "there is no table")
}
