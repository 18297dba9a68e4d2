package emit_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/emit"
)

type counter struct{ event.Func }

func (*counter) Timeless() {}

func TestNowIsOnlyForObserversThatReadTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := event.Func(func(event.Event) {})
		assert.Zero(t, emit.Now(nil))
		assert.Zero(t, emit.Now(&counter{}))
		assert.Zero(t, emit.Now(event.Tee(&counter{}, &counter{})))
		assert.Equal(t, time.Now(), emit.Now(reader))
		assert.Equal(t, time.Now(), emit.Now(event.Tee(&counter{}, reader)))
	})
}
