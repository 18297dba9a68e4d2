package dashboard

import (
	"math"
	"strings"
	"time"

	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

// Status is what GET /api/status returns.
type Status struct {
	Title    string    `json:"title"`
	Time     time.Time `json:"time"`
	Started  time.Time `json:"started"`
	Actions  bool      `json:"actions"`  // limiters can be paused and changed, with the token
	Drains   bool      `json:"drains"`   // the program can be drained
	Draining bool      `json:"draining"` // it was, or is being, drained

	Limiters []Limiter `json:"limiters"` // by name
	More     int       `json:"more"`     // limiters that are not listed
	Clients  []Share   `json:"clients"`  // null: there is no Config.Clients
	Keys     []Key     `json:"keys"`     // null: there is no Config.Keys
	Events   []Line    `json:"events"`   // the last 100, the oldest first
}

// The states of a Limiter.
const (
	Open    = "open"    // nothing holds calls back
	Waiting = "waiting" // calls wait
	Paused  = "paused"  // by an action or by the program
	Closed  = "closed"  // calls fail
)

// Limiter is the state of a guard. Counts are since the guard was made or reset.
type Limiter struct {
	Name  string `json:"name"`
	State string `json:"state"`
	Why   string `json:"why"`            // what holds it back, in a sentence
	Note  string `json:"note,omitempty"` // what that means for the learned state, in a sentence

	Rate    float64            `json:"rate,omitempty"`    // requests a second that are allowed: the least of learned rate and limits
	Learned map[string]float64 `json:"learned,omitempty"` // rates that were learned, each in units a second, by unit
	Cap     int                `json:"cap,omitempty"`     // calls in flight that are allowed
	Limits  string             `json:"limits,omitempty"`  // hard limits
	Windows []Window           `json:"windows,omitempty"` // of the hard limits, in their order

	LearnedCap int `json:"learned_cap,omitempty"` // calls in flight, as learned

	InFlight  int     `json:"in_flight"`
	Waiting   int     `json:"waiting"`
	PerSecond float64 `json:"per_second"` // calls admitted, on average over 10 seconds

	Admitted    int64      `json:"admitted"`
	Hits        int64      `json:"hits"`        // 429s and the like
	Cuts        int64      `json:"cuts"`        // decreases of the cap
	Failed      int64      `json:"failed"`      // calls that failed otherwise, if the dashboard observes calls
	Rejected    int64      `json:"rejected"`    // calls that did not wait, or could not in time
	Abandoned   int64      `json:"abandoned"`   // waits that the caller ended
	MeanWait    float64    `json:"mean_wait_s"` // of calls that waited
	LongestWait float64    `json:"longest_wait_s"`
	OldestWait  float64    `json:"oldest_wait_s,omitempty"` // so far, of the first in Config.Queues
	PausedUntil *time.Time `json:"paused_until,omitempty"`
	Degraded    string     `json:"degraded,omitempty"` // why the last call was admitted without the store
}

// Window is how much of a window of the hard limits the calls of this process use.
type Window struct {
	Window  string  `json:"window"`
	Used    int64   `json:"used"`
	Left    int64   `json:"left"`       // negative after calls that cost more than was reserved
	FreesIn float64 `json:"frees_in_s"` // until Used falls; 0 if it is 0
}

// Share is a Client and its rate.
type Share struct {
	Client

	PerSecond float64 `json:"per_second"` // calls admitted, on average over about 10 seconds
}

// Line is an event of a limiter.
type Line struct {
	ID      int64     `json:"id"` // counts up
	Time    time.Time `json:"time"`
	Limiter string    `json:"limiter"`
	Kind    string    `json:"kind"`
	Text    string    `json:"text"`
}

// limiter describes a guard.
func limiter(name string, now time.Time, s *guard.Stats, hits, cuts int64) Limiter {
	l := Limiter{
		Name: name, State: Open, Why: sentence(s.Why), Limits: text(s.Limits), LearnedCap: s.View.Concurrency, Cap: least(s.View.Concurrency, s.Limits.Concurrency),
		InFlight: s.InFlight, Waiting: s.Waiting, Admitted: s.Admitted, Hits: hits, Cuts: cuts, Rejected: s.Refused, Abandoned: s.Abandoned,
		LongestWait: rounded(s.LongestWait.Seconds()),
	}
	for _, u := range s.Windows {
		l.Windows = append(l.Windows, Window{Window: u.Window.String(), Used: u.Spent, Left: u.Left, FreesIn: rounded(u.FreesIn.Seconds())})
	}
	if s.Degraded != nil {
		l.Degraded = s.Degraded.Error()
	}
	if s.Waits > 0 {
		l.MeanWait = rounded(s.Waited.Seconds() / float64(s.Waits))
	}
	for u, pace := range s.View.Pace {
		if pace > 0 && !math.IsInf(pace, 0) {
			if l.Learned == nil {
				l.Learned = map[string]float64{}
			}
			l.Learned[throttle.Unit(u).String()] = rounded(pace)
		}
	}
	learned := l.Learned[throttle.Requests.String()]
	limited := requests(s.Limits)
	l.Rate = least(learned, limited)
	switch {
	case s.Closed != nil:
		l.State = Closed
		l.Note = "Calls fail at once. Resume reopens it."
	case s.PausedUntil.After(now):
		until := s.PausedUntil
		l.State, l.PausedUntil = Paused, &until
		l.Note = "Calls in flight finish, others wait in their place. What was learned is kept."
	case s.Waiting > 0 && s.Bound.Kind != throttle.NotBound, s.View.GateUntil.After(now):
		l.State = Waiting
	}
	if l.Note == "" && limited > 0 && learned > limited {
		l.Note = "In the long run the limit decides: it is below the learned rate. Higher rates are not tried."
	}
	return l
}

// requests is the lowest rate of requests that the windows allow in the long run; 0: there is none.
func requests(l throttle.Limits) (rate float64) {
	for _, w := range l.Windows {
		if w.Unit() == throttle.Requests {
			rate = least(rate, rounded(w.Rate()))
		}
	}
	return rate
}

// least is the smaller of two bounds, of which 0 means none.
func least[T int | float64](a, b T) T {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// rounded keeps three decimals, or three digits of what is smaller.
func rounded(v float64) float64 {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	unit := 1000.0
	for math.Abs(v)*unit < 100 && unit < 1e12 {
		unit *= 10
	}
	return math.Round(v*unit) / unit
}

func text(l throttle.Limits) string {
	if l.Concurrency == 0 && len(l.Windows) == 0 {
		return ""
	}
	return l.String()
}

// sentence is why a guard waits, without the numbers at its beginning, which are shown anyway.
func sentence(why string) string {
	numbers, rest, found := strings.Cut(why, ": ")
	if !found || rest == "" || strings.Contains(numbers, "(") || !strings.Contains(numbers, " in flight") {
		return why
	}
	return strings.ToUpper(rest[:1]) + rest[1:] + "."
}
