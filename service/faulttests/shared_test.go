package faulttests_test

import (
	"cmp"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/redisserver"
)

func writeKey(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("k", 64)), 0o600))
}

// admission is a check that was allowed, at some instant between two of the client's.
type admission struct{ sent, got time.Duration }

// excess returns by how many tokens the admissions exceed burst + rate*t in some interval
// of length t, up to most: only those count that certainly lie in it. It shares nothing
// with the service: it tries every interval that begins with an admission.
func excess(all []admission, burst int, rate float64, most time.Duration) (worst int) {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b admission) int { return cmp.Compare(a.got, b.got) })
	for i := range all {
		from, n := all[i].sent, 0
		for _, x := range all[i:] {
			if x.got-from > most {
				break
			}
			if x.sent >= from {
				n++
				worst = max(worst, n-burst-int(rate*(x.got-from).Seconds()+1e-9))
			}
		}
	}
	return worst
}

func TestTheOracleSeesExcess(t *testing.T) {
	at := func(ms ...int) (all []admission) {
		for _, n := range ms {
			all = append(all, admission{time.Duration(n) * time.Millisecond, time.Duration(n+1) * time.Millisecond})
		}
		return all
	}
	assert.Equal(t, 0, excess(at(0, 1, 2, 1000), 3, 0, time.Second))
	assert.Equal(t, 1, excess(at(0, 1, 2, 998), 3, 0, time.Second))
	assert.Equal(t, 2, excess(at(5, 6, 7, 8, 9), 3, 0, time.Second))
	assert.Equal(t, 0, excess(at(0, 0, 99, 199), 2, 10, time.Hour))
	assert.Equal(t, 2, excess(at(0, 0, 90, 91), 2, 10, time.Hour))
}

// Two servers on one Redis, 64 clients: no limit is ever exceeded, and none is left
// unused.
func TestTwoServersShareLimits(t *testing.T) {
	const burst, rate, window, orgRate = 40, 150.0, 200, 200.0
	yaml := `
rate_limits:
  - {scope: user, capacity: 40, refill_rate: 150}
  - {scope: org, limits: "200/s"}
runtime: {store: "` + redisserver.Start(t).URL() + `", timeout: 5s}
`
	servers := []*replica{start(t, yaml), start(t, yaml)}
	var (
		mu    sync.Mutex
		users = map[string][]admission{}
		org   []admission
		asked int
		wg    sync.WaitGroup
	)
	began := time.Now()
	for i := range 64 {
		wg.Go(func() {
			user := strconv.Itoa(i % 3)
			single := `{"identifier":"` + user + `","resource":"x"}`
			both := `[{"identifier":"` + user + `","resource":"x"},{"scope":"org","identifier":"all","resource":"x"}]`
			for n := i; time.Since(began) < *running; n++ {
				sent := time.Since(began)
				var a answer
				if n%2 == 0 {
					a = servers[n/2%2].post("check-all", both)
				} else {
					a = servers[n/2%2].post("check", single)
				}
				got := time.Since(began)
				mu.Lock()
				asked++
				switch {
				case a.Status == 200 && n%2 == 0:
					org = append(org, admission{sent, got})
					fallthrough
				case a.Status == 200:
					users[user] = append(users[user], admission{sent, got})
				case a.Status != 429:
					t.Errorf("status %d", a.Status)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	took := time.Since(began).Seconds()
	for user, all := range users {
		t.Logf("user %s: %d admitted, %.1f/s", user, len(all), float64(len(all))/took)
		assert.LessOrEqual(t, excess(all, burst, rate, 5*time.Second), 0, user)
		assert.Greater(t, float64(len(all)), 0.3*rate*took, user)
	}
	t.Logf("org: %d admitted, %.1f/s; %d checks, %.0f/s", len(org), float64(len(org))/took, asked, float64(asked)/took)
	assert.LessOrEqual(t, excess(org, window, 0, time.Second), 0)
	assert.LessOrEqual(t, float64(len(org)), window+orgRate*took)
}
