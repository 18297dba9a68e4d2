package dashboard

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

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
