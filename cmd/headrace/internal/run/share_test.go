package run_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/cmd/headrace/internal/run"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/store/sqlitestore"
)

func TestOutagesOfTheStore(t *testing.T) {
	start := time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)
	at := start.Add
	refused := errors.New("connection refused")
	const stop = "connection refused; once it is available, resume the run"

	o := run.NewOutage(time.Minute)
	check := func(began, now time.Duration, err error, again time.Duration, news bool, failed string) {
		t.Helper()
		wait, text, why := o.Asked(at(began), at(now), err)
		assert.Equal(t, again, wait)
		assert.Equal(t, failed, why)
		if assert.Equal(t, news, text != "", text) && news {
			assert.Equal(t, "connection refused. All requests wait until it admits calls again, for at most 1m0s (--max-wait)", text)
		}
	}
	check(0, 0, refused, 0, false, stop) // it has never responded

	o = run.NewOutage(time.Minute)
	check(0, time.Second, nil, 0, false, "")
	check(time.Second, 2*time.Second, refused, time.Second, true, "")
	check(time.Second, 3*time.Second, refused, time.Second, false, "")
	check(time.Second, 4*time.Second, nil, 0, false, "") // it was asked before the outage, and its answer was late
	check(61*time.Second, 61500*time.Millisecond, refused, 500*time.Millisecond, false, "")
	check(62*time.Second, 62*time.Second, refused, 0, false, stop)

	o = run.NewOutage(time.Minute)
	check(0, 0, nil, 0, false, "")
	check(time.Second, 2*time.Second, refused, time.Second, true, "")
	check(50*time.Second, 50*time.Second, nil, 0, false, "")
	check(55*time.Second, 55*time.Second, refused, time.Second, false, "") // news of another outage would come too soon
	check(99*time.Second, 100*time.Second, refused, time.Second, false, "")
	check(101*time.Second, 101*time.Second, nil, 0, false, "")
	check(102*time.Second, 102*time.Second, refused, time.Second, true, "")
	for _, err := range []error{
		sqlitestore.ErrGone, sqlitestore.ErrFull, sqlitestore.ErrReadOnly, sqlitestore.ErrForeign, sqlitestore.ErrDamaged, sqlitestore.ErrUnusable,
		&sqlitestore.NewerError{},
	} {
		_, _, failed := o.Asked(at(103*time.Second), at(103*time.Second), fmt.Errorf("limits.db: %w", err))
		assert.Contains(t, failed, "limits.db: ", "it does not pass by itself")
	}
	check(103*time.Second, 103*time.Second, &fault.FieldError{Owner: "redisstore", Field: "the limits of \"a\"", Problem: "damaged"},
		0, false, `the limits of "a": damaged; once these limits are removed, resume the run`)
	again, _, failed := o.Asked(at(104*time.Second), at(104*time.Second), sqlitestore.ErrLocked)
	assert.Equal(t, time.Second, again)
	assert.Empty(t, failed)
}
