package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/store/redisstore"
	"github.com/headrace/headrace/throttle"
)

// Store is a store of limits.
type Store struct {
	Address string  `json:"address"` // without a password
	Path    string  `json:"path,omitempty"`
	State   string  `json:"state"`                     // answers, absent, unreachable or unknown
	Server  string  `json:"server,omitempty"`          // such as Redis 7.0.15
	Median  float64 `json:"latency_ms,omitempty"`      // time of a decision, the median of five
	Slowest float64 `json:"slowest_ms,omitempty"`      // the slowest of the five
	Clock   float64 `json:"clock_offset_s"`            // how far its clock is ahead of the clock of this host
	Exactly float64 `json:"clock_offset_error_s"`      // half of the round trip time
	Keys    []Key   `json:"keys"`                      // those nearest to their limits
	Found   int     `json:"keys_found"`                // in all, as far as they were counted
	Partial bool    `json:"keys_incomplete,omitempty"` // there may be more, because the time was over or there were too many
}

// The states of a Store.
const (
	Answers     = "answers"
	Absent      = "absent"
	Unreachable = "unreachable"
	Unknown     = "unknown"
)

// Key is a key of a store.
type Key struct {
	Name        string   `json:"name"`
	Windows     []Window `json:"windows"`
	InFlight    int      `json:"in_flight"`
	Concurrency int      `json:"concurrency,omitempty"` // maximum calls in flight; 0 means any number
	Paused      float64  `json:"paused_s,omitempty"`    // how long no call is admitted because of a 429
	Wait        *float64 `json:"wait_s,omitempty"`      // how long a call of one request would wait; null if not asked

	limits throttle.Limits
}

// Window is the use of a window.
type Window struct {
	Window  string  `json:"window"`
	Used    int64   `json:"used"`
	Left    int64   `json:"left"`       // negative after calls that cost more than was reserved
	FreesIn float64 `json:"frees_in_s"` // until Used falls
}

const (
	peeks       = 5
	mostScanned = 10_000 // keys of one store
	slow        = 100 * time.Millisecond
	farOff      = time.Second // of a clock
	peekedKey   = "headrace doctor"
)

// store examines the store at an address.
func (x *examination) store(ctx context.Context, at *place) {
	s := &Store{Address: settings.WithoutPassword(at.address), State: Unreachable, Keys: []Key{}}
	x.Stores = append(x.Stores, s)
	x.secret(at.address)
	scheme, rest, _ := strings.Cut(at.address, ":")
	switch {
	case scheme == "sqlite":
		if s.Path, _ = filepath.Abs(rest); !x.mayOpen(s) {
			return
		}
	case scheme != "redis" && scheme != "rediss" && scheme != "service":
		s.State = Unknown
		x.add(Warning, StoreUnknown, s.Address, "examine it with the program that opens it; headrace itself opens "+settings.Addresses,
			"the command cannot open %s:...", scheme)
		return
	}
	ctx, cancel := x.within(ctx)
	defer cancel()
	opened, err := bounded(ctx, func(context.Context) (settings.Store, error) {
		return settings.OpenStore(at.address, redisstore.WithTimeout(2*x.Wait)) // the context ends first
	})
	if err != nil {
		x.unreachable(s, err)
		return
	}
	defer func() { // a store that does not respond may not close either
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_, _ = bounded(closing, func(context.Context) (struct{}, error) { return struct{}{}, opened.Close() })
	}()
	if err := x.latency(ctx, s, opened); err != nil {
		x.unreachable(s, err)
		return
	}
	s.State = Answers
	if strings.HasPrefix(scheme, "redis") {
		x.redis(ctx, s, at.address)
	}
	x.keys(ctx, s, opened, at.demands)
}

// latency measures the time of decisions that change nothing.
func (x *examination) latency(ctx context.Context, s *Store, store quota.Store) error {
	demand := quota.Demand{Key: peekedKey, Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1, time.Second)}}}
	var took []time.Duration
	for i := range peeks + 1 {
		began := time.Now()
		if _, err := peek(ctx, store, demand); err != nil {
			return err
		}
		if i > 0 { // the first one also connects
			took = append(took, time.Since(began))
		}
	}
	slices.Sort(took)
	median := took[len(took)/2]
	s.Median, s.Slowest = milliseconds(median), milliseconds(took[len(took)-1])
	if median > slow {
		x.add(Warning, StoreSlow, s.Address, "move the store closer to the callers, or let each process reserve calls in advance (redisstore.WithBatches)",
			"a decision takes %s, and every call waits for a decision", median.Round(time.Millisecond))
	}
	return nil
}

func peek(ctx context.Context, store quota.Store, d quota.Demand) (quota.Grant, error) {
	return bounded(ctx, func(ctx context.Context) (quota.Grant, error) {
		return store.Take(ctx, quota.Request{Demands: []quota.Demand{d}, Lease: leaseTime, Peek: true, Uses: true})
	})
}

// unreachable reports why a store could not be asked, and a remedy.
func (x *examination) unreachable(s *Store, err error) {
	x.add(Problem, StoreUnreachable, s.Address, remedy(s.Address, err), "it cannot admit calls: %s", plain(err))
}

// plain returns the text of an error without the names of our packages.
func plain(err error) string {
	text := settings.Plain(err)
	for _, owner := range []string{"redisstore: ", "sqlitestore: "} {
		text = strings.TrimPrefix(text, owner)
	}
	return text
}

// remedy returns the remedy for a store that failed with err.
func remedy(address string, err error) string {
	text, unresolved := err.Error(), (*net.DNSError)(nil)
	switch {
	case strings.HasPrefix(address, "service:"):
		return "start it there (headrace serve --config FILE), or correct the address; a service that requires a token takes it from " + group.TokenEnv
	case errors.As(err, new(*fault.FieldError)), !strings.HasPrefix(address, "redis"):
		return "" // it names the remedy itself
	case strings.Contains(text, "NOAUTH"), strings.Contains(text, "WRONGPASS"), strings.Contains(text, "unauthenticated"):
		return "add the user and the password to the address, redis://USER:PASSWORD@HOST:PORT/DB; set it in HEADRACE_SHARE to keep it off the command line"
	case strings.Contains(text, "NOPERM"), strings.Contains(text, "can't run this command"):
		return "allow the Redis user to execute the commands: ACL SETUSER name ~headrace:* &headrace:* +@read +@write +@scripting +@pubsub +@connection +time"
	case strings.Contains(text, "LOADING"):
		return "wait until Redis has loaded its data, and run the doctor again"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "start Redis there, or correct the host and the port"
	case errors.As(err, &unresolved):
		return "correct the host name, or check the name server"
	case strings.Contains(text, "tls:"), errors.Is(err, fs.ErrClosed), strings.Contains(text, "EOF"),
		strings.HasPrefix(address, "rediss:"): // a server without TLS waits for more data
		return "check whether the server uses TLS: rediss:// is with TLS, redis:// without"
	}
	return "check that the server is running and can be reached from this host; until it responds, calls fail or use the program's fallback"
}

// mayOpen reports whether a file of limits exists and belongs to this user. Opening it creates files next to it, and
// the programs that share it could not use files of another user.
func (x *examination) mayOpen(s *Store) bool {
	info, err := os.Stat(s.Path)
	folder, folderErr := os.Stat(filepath.Dir(s.Path))
	switch owner, known := ownerOf(info); {
	case errors.Is(err, fs.ErrNotExist) && (folderErr != nil || !folder.IsDir()):
		x.add(Problem, StoreUnreachable, s.Address, "create the folder, or correct the path; a relative path depends on the working directory of each program",
			"there is no folder %s", filepath.Dir(s.Path))
	case errors.Is(err, fs.ErrNotExist):
		s.State = Absent
		x.add(Note, StoreAbsent, s.Address, "", "there is no file %s yet: the first program that shares limits creates it", s.Path)
	case err != nil:
		x.unreachable(s, err)
	case known && owner != os.Geteuid():
		x.add(Problem, StoreForeign, s.Address, fmt.Sprintf("run the doctor, and all programs that share the file, as user %d", owner),
			"the file belongs to user %d and was not opened, because this is user %d", owner, os.Geteuid())
	default:
		if _, err := os.Stat(s.Path + "-turn"); err == nil {
			return true
		}
		s.State = Absent
		x.add(Note, StoreAbsent, s.Address, "", "the file %s has not been used for limits yet", s.Path)
	}
	return false
}

// keys examines the keys of the configuration, and then all others until the time is over.
func (x *examination) keys(ctx context.Context, s *Store, store settings.Store, demands []demand) {
	seen := map[string]bool{}
	for _, d := range demands {
		if seen[d.key] = true; strings.HasPrefix(d.key, x.Prefix) && ctx.Err() == nil {
			x.configured(ctx, s, store, d)
		}
	}
	names, err := others(ctx, store, x.Prefix, seen)
	s.Partial = err != nil
	if errors.As(err, new(*fault.FieldError)) { // a store that knows keys by a hash cannot name it
		x.add(Problem, KeyDamaged, s.Address, "", "a key cannot be read, and its calls fail: %s", plain(err))
		s.Partial = false
	}
	s.Found += len(names)
	for _, name := range names {
		if ctx.Err() != nil {
			s.Partial = true
			break
		}
		if k, ok := x.key(ctx, s, store, name); ok {
			s.Keys = append(s.Keys, k)
		}
	}
	slices.SortStableFunc(s.Keys, func(a, b Key) int {
		return cmp.Or(cmp.Compare(b.Paused, a.Paused), cmp.Compare(b.fullness(), a.fullness()), strings.Compare(a.Name, b.Name))
	})
	s.Keys = s.Keys[:min(len(s.Keys), x.Keys)]
}

// configured examines a key of the configuration.
func (x *examination) configured(ctx context.Context, s *Store, store settings.Store, d demand) {
	k, ok := x.key(ctx, s, store, d.key)
	if !ok {
		return
	}
	s.Found++
	if g, err := peek(ctx, store, quota.Demand{Key: d.key, Limits: d.limits}); err == nil {
		wait := g.Wait.Seconds()
		k.Wait = &wait
		if len(k.Windows) == 0 && len(g.Uses) == 1 {
			k.Windows, k.Concurrency = windows(g.Uses[0]), d.limits.Concurrency
		}
	}
	if stated := limitsOf(k.limits); stated != "" && stated != limitsOf(d.limits) {
		x.add(Warning, LimitsDiffer, s.Address+" "+d.key, "use the same configuration in all programs: the limits that were set last apply",
			"this configuration has %s, but another program has set %s since", d.limits.String(), k.limits.String())
	}
	s.Keys = append(s.Keys, k)
}

// others returns the keys that are not in seen, and errMany if there are more than it returns.
func others(ctx context.Context, store settings.Store, prefix string, seen map[string]bool) ([]string, error) {
	return bounded(ctx, func(ctx context.Context) (names []string, _ error) {
		for name, err := range store.Keys(ctx, prefix) {
			if err != nil {
				return names, err
			}
			if !seen[name] {
				names = append(names, name)
			}
			if len(names) == mostScanned {
				return names, errMany
			}
		}
		return names, nil
	})
}

var errMany = fmt.Errorf("more than %d keys", mostScanned)

// key examines one key.
func (x *examination) key(ctx context.Context, s *Store, store settings.Store, name string) (Key, bool) {
	state, err := bounded(ctx, func(ctx context.Context) (quota.State, error) { return store.Look(ctx, name) })
	switch {
	case err != nil && ctx.Err() != nil:
		s.Partial = true
		return Key{}, false
	case err != nil:
		x.add(Problem, KeyDamaged, s.Address+" "+name, "delete its history with the store's method Forget: it then starts with full limits",
			"the stored data cannot be read, and its calls fail: %s", plain(err))
		return Key{}, false
	}
	return Key{
		Name: name, Windows: windows(state.Uses), InFlight: state.InFlight, Concurrency: state.Limits.Concurrency,
		Paused: state.Cooldown.Seconds(), limits: state.Limits,
	}, true
}

func windows(uses []throttle.WindowUse) []Window {
	all := make([]Window, 0, len(uses))
	for _, u := range uses {
		all = append(all, Window{Window: u.Window.String(), Used: u.Spent, Left: u.Left, FreesIn: u.FreesIn.Seconds()})
	}
	return all
}

// fullness returns the used fraction of the fullest window, or of the slots.
func (k *Key) fullness() (most float64) {
	for _, w := range k.Windows {
		if all := w.Used + w.Left; all > 0 {
			most = max(most, float64(w.Used)/float64(all))
		}
	}
	if k.Concurrency > 0 {
		most = max(most, float64(k.InFlight)/float64(k.Concurrency))
	}
	return most
}

// limitsOf returns l as text that does not depend on the order of its windows.
func limitsOf(l throttle.Limits) string {
	var all []string
	for _, w := range l.Windows {
		all = append(all, w.String())
	}
	slices.Sort(all)
	if l.Concurrency > 0 {
		all = append(all, strconv.Itoa(l.Concurrency))
	}
	return strings.Join(all, ", ")
}

func milliseconds(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond)) / float64(time.Millisecond)
}
