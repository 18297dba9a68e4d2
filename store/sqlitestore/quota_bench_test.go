package sqlitestore_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/store/sqlitestore"
	"github.com/headrace/headrace/throttle"
)

// make verify sets it.
var beside = flag.Duration("beside", 0, "measure for so long, five times each, what four processes get of a Quota and of a plain transaction")

// contender is one process of the comparison.
type contender struct {
	Name, Path string
	Goroutines int
	For        time.Duration
}

// share is what it had.
type share struct {
	Decisions int64
	Worst     time.Duration // that one decision took
	CPU       time.Duration
	Errors    []string
}

// A decision on three limits of one key, by four processes at once: calls that
// are merged, and turns, beside three SELECTs and three UPDATEs in a transaction.
func TestQuotaBesideATransaction(t *testing.T) {
	if *beside == 0 {
		t.Skip("it measures: set -beside, on an idle machine")
	}
	const processes, rounds = 4, 5
	for _, goroutines := range []int{64, 8} {
		rates, costs, worst, jain := map[string][]float64{}, map[string][]float64{}, map[string][]time.Duration{}, map[string][]float64{}
		names := []string{"transaction", "one key", "three keys"}
		for range rounds {
			for _, name := range names {
				shares := contend(t, processes, contender{name, filepath.Join(t.TempDir(), "quota.db"), goroutines, *beside})
				var sum, squares float64
				var longest, cpu time.Duration
				for _, s := range shares {
					sum += float64(s.Decisions)
					squares += float64(s.Decisions) * float64(s.Decisions)
					longest = max(longest, s.Worst)
					cpu += s.CPU
				}
				rates[name] = append(rates[name], sum)
				costs[name] = append(costs[name], float64(cpu)/sum)
				worst[name] = append(worst[name], longest)
				jain[name] = append(jain[name], sum*sum/squares/processes)
			}
		}
		for _, name := range names {
			t.Logf("%d x %d %-12s %6.2f times as many decisions, each %6.2f times as cheap, worst wait %s (%s in the median round), Jain %.3f (%.3f at least)",
				processes, goroutines, name, median(rates[name])/median(rates[names[0]]), median(costs[names[0]])/median(costs[name]),
				slices.Max(worst[name]).Round(time.Millisecond/10), median(worst[name]).Round(time.Millisecond/10), median(jain[name]), slices.Min(jain[name]))
		}
	}
}

func median[T float64 | time.Duration](of []T) T {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}

func contend(t *testing.T, processes int, c contender) []share {
	t.Helper()
	if c.Name == "transaction" {
		newNaive(t, c.Path)
	} else {
		require.NoError(t, openQuota(t, c.Path, nil).Close())
	}
	shares := make([]share, processes)
	var all sync.WaitGroup
	for i := range shares {
		cmd := quotaChild(t, "contend", c)
		all.Go(func() {
			out, err := cmd.Output()
			if assert.NoError(t, err) && assert.NoError(t, json.Unmarshal(out, &shares[i])) {
				assert.Empty(t, shares[i].Errors)
				shares[i].CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			}
		})
	}
	all.Wait()
	return shares
}

// beContender decides as often as it can, and prints its share.
func beContender(c contender) error {
	decide, end, err := decider(c)
	if err != nil {
		return err
	}
	if err := decide(); err != nil {
		return err
	}
	var mu sync.Mutex
	var mine share
	var all sync.WaitGroup
	begun := time.Now()
	for range c.Goroutines {
		all.Go(func() {
			var s share
			for last := time.Now(); last.Sub(begun) < c.For; {
				if err := decide(); err != nil {
					s.Errors = append(s.Errors, err.Error())
				}
				now := time.Now()
				s.Worst = max(s.Worst, now.Sub(last))
				s.Decisions++
				last = now
			}
			mu.Lock()
			defer mu.Unlock()
			mine.Decisions += s.Decisions
			mine.Worst = max(mine.Worst, s.Worst)
			mine.Errors = append(mine.Errors, s.Errors...)
		})
	}
	all.Wait()
	if err := end(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(mine)
}

func decider(c contender) (decide, end func() error, err error) {
	if c.Name == "transaction" {
		db, err := openNaive(c.Path)
		if err != nil {
			return nil, nil, err
		}
		return func() error { return decideNaively(db) }, db.Close, nil
	}
	q, err := sqlitestore.OpenQuota(c.Path)
	if err != nil {
		return nil, nil, err
	}
	windows := []throttle.Window{
		throttle.Bucket(1e8, 1e8), throttle.Bucket(1e8, 1e8).Of(throttle.Tokens), throttle.Bucket(1e8, 1e8).Of(throttle.Points),
	}
	cost := throttle.Cost{Tokens: 1, Points: 1}
	r := quota.Request{Demands: []quota.Demand{{Key: "api", Limits: throttle.Limits{Windows: windows}, Cost: cost}}}
	if c.Name == "three keys" {
		r.Demands = nil
		for i, w := range windows {
			r.Demands = append(r.Demands, quota.Demand{Key: "k" + strconv.Itoa(i), Limits: throttle.Limits{Windows: []throttle.Window{w}}, Cost: cost})
		}
	}
	return func() error {
		g, err := q.Take(context.Background(), r)
		if err == nil && g.Wait > 0 {
			return fmt.Errorf("refused: %s", g.Bound)
		}
		return err
	}, q.Close, nil
}

func openNaive(path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

func newNaive(t *testing.T, path string) {
	t.Helper()
	db, err := openNaive(path)
	require.NoError(t, err)
	_, err = db.Exec(`CREATE TABLE l (k TEXT PRIMARY KEY, tat INTEGER NOT NULL) WITHOUT ROWID; INSERT INTO l VALUES ('k0', 0), ('k1', 0), ('k2', 0)`)
	require.NoError(t, err)
	require.NoError(t, db.Close())
}

// decideNaively takes from three buckets as one would at first.
func decideNaively(db *sql.DB) error {
	const interval, burst = int64(10), int64(time.Second)
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	var full [3]int64
	for i := range full {
		if err := tx.QueryRow(`SELECT tat FROM l WHERE k = ?`, "k"+strconv.Itoa(i)).Scan(&full[i]); err != nil {
			return err
		}
	}
	now := time.Now().UnixNano()
	for i := range full {
		if full[i] = max(full[i], now) + interval; full[i]-now > burst {
			return fmt.Errorf("refused by limit %d", i)
		}
	}
	for i := range full {
		if _, err := tx.Exec(`UPDATE l SET tat = ? WHERE k = ?`, full[i], "k"+strconv.Itoa(i)); err != nil {
			return err
		}
	}
	return tx.Commit()
}
