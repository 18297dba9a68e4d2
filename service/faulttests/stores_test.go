package faulttests_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/internal/redisserver"
)

// The API means the same over every store.
func TestStores(t *testing.T) {
	for name, address := range map[string]func(t *testing.T) string{
		"memory": func(*testing.T) string { return "memory" },
		"SQLite": sqlite,
		"Redis":  func(t *testing.T) string { t.Helper(); return redisserver.Start(t).URL() },
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, on(address(t), patient))
			left := func(bucket string) int64 { return s.do(http.MethodGet, "buckets/"+bucket, "").Left }
			const alice, org = "user/alice/search", "org/7/search"

			a := s.post("check", `{"identifier":"alice","resource":"search","tokens":6}`)
			assert.Equal(t, http.StatusOK, a.Status)
			assert.Equal(t, int64(4), a.Left)
			assert.Equal(t, int64(4), left(alice))
			assert.Equal(t, http.StatusOK, s.post("settle", `{"permit":"`+a.Permit+`","tokens_used":2}`).Status)
			assert.Equal(t, int64(8), left(alice))
			assert.Equal(t, "PERMIT_ENDED", s.post("settle", `{"permit":"`+a.Permit+`","tokens_used":0}`).Code)
			assert.Equal(t, int64(8), left(alice))

			const both = `[{"identifier":"alice","resource":"search","tokens":3},{"scope":"org","identifier":"7","resource":"search","tokens":3}]`
			a = s.post("check-all", both)
			assert.Equal(t, http.StatusOK, a.Status)
			assert.Equal(t, http.StatusTooManyRequests, s.post("check-all", both).Status)
			assert.Equal(t, int64(5), left(alice), "all or nothing")
			assert.Equal(t, int64(2), left(org))
			assert.Equal(t, http.StatusOK, s.post("cancel", `{"permit":"`+a.Permit+`"}`).Status)
			assert.Equal(t, int64(8), left(alice))
			assert.Equal(t, int64(5), left(org))

			a = s.post("check", `{"identifier":"alice","resource":"search","tokens":8,"dry_run":true}`)
			assert.True(t, a.Allowed)
			assert.Equal(t, int64(8), left(alice))
			assert.Equal(t, http.StatusNoContent, s.do(http.MethodDelete, "buckets/"+alice, "").Status)
			assert.Equal(t, int64(10), left(alice))

			const trial = `{"scope":"trial","identifier":"a","resource":"x","tokens":2}`
			assert.True(t, s.post("check", trial).Allowed)
			assert.False(t, s.post("check", trial).Allowed)
			assert.Equal(t, int64(1), left("trial/a/x"))

			var allowed atomic.Int64
			var wg sync.WaitGroup
			for range 16 {
				wg.Go(func() {
					for range 5 {
						if s.check().Allowed {
							allowed.Add(1)
						}
					}
				})
			}
			wg.Wait()
			assert.Equal(t, int64(10), allowed.Load())
		})
	}
}

// A service that starts again goes on with what was used, and ends permits of before.
func TestRestart(t *testing.T) {
	key := t.TempDir() + "/key"
	writeKey(t, key)
	for name, address := range map[string]string{"SQLite": sqlite(t), "Redis": redisserver.Start(t).URL()} {
		t.Run(name, func(t *testing.T) {
			var permit string
			t.Run("before", func(t *testing.T) {
				a := start(t, on(address, patient+", permits: {key_file: "+key+"}")).post("check", `{"identifier":"alice","resource":"search","tokens":6}`)
				permit = a.Permit
			})
			s := start(t, on(address, patient+", permits: {key_file: "+key+"}"))
			assert.Equal(t, int64(3), s.check().Left)
			assert.Equal(t, http.StatusOK, s.post("settle", `{"permit":"`+permit+`","tokens_used":1}`).Status)
			assert.Equal(t, int64(8), s.do(http.MethodGet, "buckets/user/alice/search", "").Left)
		})
	}
}
