package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/providertest"
)

const progressEvery = 500 * time.Millisecond

// story is the observer that prints how the run goes.
type story struct {
	began time.Time

	mu    sync.Mutex // guards everything below
	out   io.Writer
	total int
	done  int
	told  time.Time // when progress was printed last
}

func newStory(out io.Writer) *story { return &story{began: time.Now(), out: out} }

// expect adds passages to come.
func (s *story) expect(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total += n
}

// Observe implements event.Observer.
func (s *story) Observe(e event.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := e.Time.Sub(s.began).Seconds()
	switch e.Kind {
	case event.LimiterCut:
		of := "in flight"
		if strings.HasPrefix(e.Reason, "requests per second") {
			of = "requests/s"
		}
		if e.From > 0 { // else there was no limit yet
			of += fmt.Sprintf(", from %.0f", e.From)
		}
		fmt.Fprintf(s.out, "%6.2f s  %s: down to %.0f %s (%s)\n", at, e.Source, e.To, of, e.Reason)
	case event.LimiterRecovery:
		fmt.Fprintf(s.out, "%6.2f s  %s: up from %.0f to %.0f\n", at, e.Source, e.From, e.To)
	case event.ItemRetry:
		fmt.Fprintf(s.out, "%6.2f s  %s: %v, again in %s\n", at, e.Key, e.Err, e.Wait.Round(time.Millisecond))
	case event.ItemDone:
		if e.Source != "summarise" {
			return
		}
		s.done++
		if s.done == s.total || e.Time.Sub(s.told) >= progressEvery {
			s.told = e.Time
			fmt.Fprintf(s.out, "%6.2f s  %d of %d passages\n", at, s.done, s.total)
		}
	default:
	}
}

// printDigest prints the summaries, text by text.
func printDigest(out io.Writer, d *Digest) {
	for i, t := range d.Texts {
		if len(d.Summaries[i]) == 0 {
			continue
		}
		fmt.Fprintf(out, "\n%s\n", t.Name)
		for _, summary := range d.Summaries[i] {
			fmt.Fprintf(out, "  %s\n", strings.Join(wrap(summary), "\n    "))
		}
	}
}

// wrap breaks a text into lines of a width that is good to read.
func wrap(text string) []string {
	const width = 100
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+len(word) >= width {
			lines = append(lines, line)
			line = ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(lines, line)
}

// print tells what the limiters met.
func (s *story) print(out io.Writer, r *flow.Report, n *node.Batch[*Section, Passage, string]) {
	stats := n.Guard().Stats()
	fmt.Fprintf(out, "\n%d passages in %.1f s\n", r.Nodes[n.Name()].Done, r.Elapsed.Seconds())
	for _, name := range []string{n.Name(), "sections"} {
		l := r.Limiters[name]
		fmt.Fprintf(out, "limiter %-10s %3d 429s, %d decreases, %d increases\n", name+":", l.Hits, l.Cuts, l.Recoveries)
	}
	fmt.Fprintf(out, "waiting: %d calls waited %.1f s in total, at most %.1f s\n",
		stats.Waits, stats.Waited.Seconds(), stats.LongestWait.Seconds())
}

// audit joins the results with what the provider has seen: every passage has
// to have a summary, and to have been served exactly once.
func audit(out io.Writer, d *Digest, provider *providertest.Server) error {
	var keys, missing []string
	for _, s := range d.Sections {
		for i, p := range s.Passages {
			keys = append(keys, p.Key)
			if i >= len(s.Parts) || strings.TrimSpace(s.Parts[i]) == "" {
				missing = append(missing, p.Key)
			}
		}
	}
	ledger := provider.Ledger()
	a := ledger.Audit(slices.Values(keys))
	fmt.Fprintf(out, "provider's ledger: %d arrivals, %d rejected, %d served, at most %d at once; %d lost, %d done twice\n",
		ledger.Arrivals, ledger.Refused, ledger.Served, ledger.PeakInFlight, len(a.Lost), len(a.Twice))
	if len(missing) > 0 || !a.OK() {
		return errors.Join(
			problem("without a summary", missing), problem("lost", a.Lost),
			problem("done twice", a.Twice), problem("unknown to us", a.Unknown))
	}
	return nil
}

func problem(what string, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	return fmt.Errorf("passages %s: %s", what, strings.Join(keys, ", "))
}
