package sqlitestore_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/store/sqlitestore"
	"github.com/headrace/headrace/throttle"
)

const quotaChildEnv = "HEADRACE_SQLITE_QUOTA" // what the process does, and a space, and its JSON

// quotaChild runs this test binary as another process.
func quotaChild(t *testing.T, role string, of any) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	text, err := json.Marshal(of)
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), quotaChildEnv+"="+role+" "+string(text))
	cmd.Stderr = os.Stderr
	return cmd
}

func beQuotaChild(what string) (status int) {
	role, text, _ := strings.Cut(what, " ")
	var err error
	switch role {
	case "contend":
		var c contender
		if err = json.Unmarshal([]byte(text), &c); err == nil {
			err = beContender(c)
		}
	case "call":
		var c caller
		if err = json.Unmarshal([]byte(text), &c); err == nil {
			err = c.run()
		}
	case "hold":
		var path string
		if err = json.Unmarshal([]byte(text), &path); err == nil {
			err = beHolder(path)
		}
	case "lock":
		var path string
		if err = json.Unmarshal([]byte(text), &path); err == nil {
			err = findLock(path)
		}
	case "descriptors":
		var path string
		if err = json.Unmarshal([]byte(text), &path); err == nil {
			err = openWithoutDescriptors(path)
		}
	default:
		err = fmt.Errorf("no role %q", role)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, role, err)
		return 1
	}
	return 0
}

// caller is a process that calls under two keys until its input ends.
type caller struct {
	Path string
	Seed uint64
}

const (
	callerLease = 300 * time.Millisecond
	slotsOfA    = 6
)

// callerLimits are those of the two keys, and the rules that the oracle judges by.
func callerLimits() (limits map[string]throttle.Limits, rules map[string][]oracle.Rule) {
	limits = map[string]throttle.Limits{
		"a": {Concurrency: slotsOfA, Windows: []throttle.Window{
			throttle.Sliding(40, 200*time.Millisecond), throttle.Bucket(300, 50).Of(throttle.Tokens),
		}},
		"b": {Windows: []throttle.Window{throttle.Sliding(60, 100*time.Millisecond), throttle.Fixed(900, time.Second, time.Unix(0, 0)).Of(throttle.Points)}},
	}
	rules = map[string][]oracle.Rule{
		"a": {
			oracle.Concurrency(slotsOfA), oracle.Sliding(int(throttle.Requests), 40, 200*time.Millisecond),
			oracle.Bucket(int(throttle.Tokens), 300, time.Second, 50),
		},
		"b": {
			oracle.Sliding(int(throttle.Requests), 60, 100*time.Millisecond),
			oracle.Fixed(int(throttle.Points), 900, time.Second, time.Unix(0, 0), time.Unix(0, 0)),
		},
	}
	return limits, rules
}

// line is one of a caller's log. Times are nanoseconds since 1970.
type line struct {
	Kind   string // take, ending, ended, lost, renewed
	Token  int64
	At     int64 // of a take that of the ticket, of ended that of the decision; else when the call of the store began
	After  int64 // of ended, the last token that was given before
	Keys   []string
	Weight oracle.Weights // of a take what was reserved, of ending what was used
}

func (c caller) run() error {
	q, err := sqlitestore.OpenQuota(c.Path, sqlitestore.WithBusyTimeout(time.Minute))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	var mu sync.Mutex
	log := func(l line) {
		text, _ := json.Marshal(l)
		mu.Lock()
		defer mu.Unlock()
		_, _ = os.Stdout.Write(append(text, '\n'))
	}
	var all sync.WaitGroup
	errs := make(chan error, 8)
	for i := range 8 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(c.Seed, uint64(i)))
			for ctx.Err() == nil {
				if err := callOnce(ctx, q, random, log); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(errs)
	for e := range errs {
		err = errors.Join(err, e)
	}
	return errors.Join(err, q.Close())
}

var errStorm = errors.New("the caller gave up")

// callOnce takes, holds and ends once, or gives up at a random moment.
func callOnce(ctx context.Context, q *sqlitestore.Quota, random *rand.Rand, log func(line)) error {
	limits, _ := callerLimits()
	keys := [][]string{{"a"}, {"b"}, {"a", "b"}, {"b", "a"}}[random.IntN(4)]
	cost := throttle.Cost{Tokens: 1 + 3*random.Int64N(3), Points: 2} // few, so that equal calls meet
	r := quota.Request{Lease: callerLease}
	for _, key := range keys {
		r.Demands = append(r.Demands, quota.Demand{Key: key, Limits: limits[key], Cost: cost})
	}
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if random.IntN(4) == 0 {
		timer := time.AfterFunc(time.Duration(random.IntN(2000))*time.Microsecond, func() { cancel(errStorm) })
		defer timer.Stop()
	}
	g, err := q.Take(within, r)
	switch {
	case errors.Is(err, errStorm), ctx.Err() != nil && err != nil:
		return nil
	case err != nil:
		return err
	case g.Wait > 0:
		rest(min(g.Wait, 5*time.Millisecond))
		return nil
	}
	t := g.Ticket
	log(line{Kind: "take", Token: t.Token, At: t.At, Keys: keys, Weight: weightsOf(cost)})
	rest(time.Duration(random.IntN(3000)) * time.Microsecond)
	always := context.WithoutCancel(ctx)
	if random.IntN(4) == 0 {
		at := time.Now().UnixNano()
		lost, err := q.Renew(always, []quota.Ticket{t}, callerLease)
		if err != nil {
			return err
		}
		if len(lost) == 0 {
			log(line{Kind: "renewed", Token: t.Token, At: at})
		}
	}
	used := cost
	switch random.IntN(8) {
	case 0:
		return nil // its lease lapses
	case 1:
		used.Tokens += 5
	case 2:
		used.Tokens, used.Points = used.Tokens/2, used.Points/2
	}
	actual := make([]throttle.Cost, len(keys))
	for i := range actual {
		actual[i] = used
	}
	log(line{Kind: "ending", Token: t.Token, At: time.Now().UnixNano(), Weight: weightsOf(used)})
	at, after, err := q.EndAt(always, t, actual)
	switch {
	case errors.Is(err, quota.ErrLeaseLost):
		log(line{Kind: "lost", Token: t.Token})
	case err != nil:
		return err
	default:
		log(line{Kind: "ended", Token: t.Token, At: at, After: after})
	}
	return nil
}

func weightsOf(c throttle.Cost) (w oracle.Weights) {
	for u := range throttle.Units {
		w[u] = c.Of(u)
	}
	return w
}

// rest is a pause of a child process, which stands for the work of a call.
func rest(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
}

// call is all that the logs say of one ticket.
type call struct {
	take   line
	ending *line
	ended  *line
	lapse  int64
	lost   bool
}

// judgeCalls has the oracle judge what the processes wrote, key by key. What is
// not known, since a process was killed, is read in favour of the store.
func judgeCalls(t *testing.T, log []line) {
	t.Helper()
	calls := map[int64]*call{}
	for _, l := range log {
		c := calls[l.Token]
		switch l.Kind {
		case "take":
			require.Nil(t, c, "two tickets have the token %d", l.Token)
			calls[l.Token] = &call{take: l, lapse: l.At + int64(callerLease)}
		case "renewed":
			c.lapse = l.At + int64(callerLease)
		case "ending":
			c.ending = &l
		case "ended":
			c.ended = &l
		case "lost":
			c.lost = true
		}
	}
	_, rules := callerLimits()
	for key, of := range rules {
		var entries []oracle.Entry
		for _, e := range timeline(calls, key) {
			entries = append(entries, e.entry)
		}
		v := oracle.Judge(entries, of...)
		require.NoError(t, v.Err(), key)
		for _, tally := range v.Tallies {
			t.Logf("%s: %d calls, at worst %.2f of %s", key, tally.Judged, tally.Worst.Ratio(), tally.Rule)
			assert.Greater(t, tally.Judged, 10)
		}
	}
}

// moment is an entry of the oracle's log before it has its place.
type moment struct {
	at    int64
	after int64 // the last token that was given before; of a take its own
	order int   // of one instant and token: the take, what is charged, what is given back
	token int64
	entry oracle.Entry
}

// timeline is the log of one key in the order in which the store decided.
func timeline(calls map[int64]*call, key string) []moment {
	var all []moment
	for token, c := range calls {
		if !slices.Contains(c.take.Keys, key) {
			continue
		}
		all = append(all, moment{c.take.At, token, 0, token, oracle.Entry{Weights: c.take.Weight}})
		over := moment{at: c.lapse, order: 2, token: token, entry: oracle.Entry{Kind: oracle.End}}
		if c.ending != nil && !c.lost {
			end := moment{at: c.ending.At, order: 2, token: token}
			if c.ended != nil {
				end.at, end.after = c.ended.At, c.ended.After
			}
			var more, less oracle.Weights
			for u, n := range c.ending.Weight {
				less[u] = max(0, c.take.Weight[u]-n)
				more[u] = max(0, n-c.take.Weight[u])
			}
			end.entry = oracle.Entry{Kind: oracle.GiveBack, Weights: less}
			all = append(all, end)
			if c.ended != nil { // else it is not known whether and when it was charged
				end.order, end.entry = 1, oracle.Entry{Kind: oracle.Debit, Weights: more}
				all = append(all, end)
			}
			if end.at < over.at {
				over.at, over.after = end.at, end.after
			}
		}
		all = append(all, over)
	}
	slices.SortFunc(all, func(a, b moment) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.after, b.after), cmp.Compare(a.order, b.order), cmp.Compare(a.token, b.token))
	})
	places := map[int64]int{}
	for i := range all {
		m := &all[i]
		m.entry.At = time.Duration(m.at)
		switch m.entry.Kind {
		case oracle.Admission:
			places[m.token] = i
		case oracle.GiveBack, oracle.End:
			m.entry.Of = places[m.token]
		case oracle.Debit, oracle.Resize:
		}
	}
	return all
}

// make test sets 4,000, without the race detector, and make verify 100,000.
var quotaCalls = flag.Int("calls", 600, "how many calls eight processes make in TestEightProcessesShareLimits")

// Eight processes call under the same limits. Every hundred calls one of them is
// killed, or stopped for a while.
func TestEightProcessesShareLimits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quota.db")
	random := rand.New(rand.NewPCG(5, 6))
	lines, ended := make(chan line, 1000), make(chan *member, 8+*quotaCalls)
	var reading sync.WaitGroup
	var crew, killed []*member
	hire := func() *member {
		m := startCaller(t, path, random.Uint64())
		reading.Go(func() {
			for m.lines.Scan() {
				var l line
				if json.Unmarshal(m.lines.Bytes(), &l) == nil { // the last one of a process that was killed may be cut
					lines <- l
				}
			}
			ended <- m
		})
		return m
	}
	for range 8 {
		crew = append(crew, hire())
	}
	var log []line
	takes := 0
	for faults := 0; takes < *quotaCalls; {
		var l line
		select {
		case l = <-lines:
		case m := <-ended:
			require.Contains(t, killed, m, "a process has ended early")
			continue
		}
		log = append(log, l)
		if l.Kind != "take" {
			continue
		}
		if takes++; takes%100 != 0 {
			continue
		}
		faults++
		victim := random.IntN(len(crew))
		if faults%2 == 0 {
			crew[victim].stop()
			time.AfterFunc(time.Duration(random.IntN(200))*time.Millisecond, crew[victim].goOn)
			continue
		}
		require.NoError(t, crew[victim].cmd.Process.Kill()) // what it wrote before is still read
		killed = append(killed, crew[victim])
		crew[victim] = hire()
	}
	go func() {
		reading.Wait()
		close(lines)
	}()
	for _, m := range crew {
		m.goOn()
		require.NoError(t, m.input.Close())
	}
	for l := range lines {
		log = append(log, l)
	}
	for _, m := range crew {
		assert.NoError(t, m.cmd.Wait())
	}
	for _, m := range killed {
		assert.Error(t, m.cmd.Wait())
	}
	verify(t, path, nil)
	judgeCalls(t, log)
}

// member is a process that calls.
type member struct {
	cmd   *exec.Cmd
	input io.WriteCloser
	lines *bufio.Scanner
}

func startCaller(t *testing.T, path string, seed uint64) *member {
	t.Helper()
	cmd := quotaChild(t, "call", caller{path, seed})
	input, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return &member{cmd, input, bufio.NewScanner(out)}
}
