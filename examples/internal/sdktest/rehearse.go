package sdktest

import (
	"bytes"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/headrace/headrace/examples/internal/questions"
	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/registry"
)

// Stage is a program that is set up to run without a socket.
type Stage struct {
	Settings questions.Settings
	Provider providertest.Config
	Ask      func(base http.RoundTripper, limiters *registry.Registry) questions.Ask // goes to URL
}

// Rehearsal is a run by its flags, and what it has to show.
type Rehearsal struct {
	Args    []string
	Long    bool // it takes more than a minute
	Refused bool // something is refused
}

// Rehearse makes 200 calls under a hidden limit, each time: none fails, none is
// lost, and after the first minute at most one attempt in twenty is refused. How many are
// depends on the order of goroutines: 0 to 3 of 81 to 107 attempts, in 300 runs with 120 calls a minute.
func Rehearse(t *testing.T, stage func(t *testing.T, args []string) Stage, all []Rehearsal) {
	t.Helper()
	for _, r := range all {
		t.Run(strings.Join(r.Args, " "), func(t *testing.T) {
			out, progress, seen := play(t, stage, r.Args)
			t.Log(out)
			if lost, twice := figure(t, `(\d+) lost`, out), figure(t, `(\d+) done twice`, out); seen.Served != 200 || lost+twice > 0 {
				t.Errorf("%d served, %v lost, %v done twice", seen.Served, lost, twice)
			}
			if failed := figure(t, `(\d+) failed`, out); failed > 0 {
				t.Errorf("%v failed", failed)
			}
			if r.Refused && seen.TooMany() == 0 {
				t.Error("nothing was refused")
			}
			figure(t, `^    1 s  (\d+) of 200; \d+ in flight`, progress)
			if !r.Long {
				return
			}
			attempts := figure(t, `after the first minute: (\d+) attempts`, out)
			if refused := figure(t, `after the first minute: .* (\d+) answered 429`, out); refused > attempts/20 {
				t.Errorf("%v of %v were refused after the first minute", refused, attempts)
			}
		})
	}
}

// Asked is what a provider is asked, by some flags.
type Asked struct {
	Args        []string
	Path, Model string
	Stream      bool
}

// Asks proves that the flags say what is asked.
func Asks(t *testing.T, stage func(t *testing.T, args []string) Stage, all []Asked) {
	t.Helper()
	for _, a := range all {
		var got Asked
		play(t, func(t *testing.T, args []string) Stage {
			t.Helper()
			s := stage(t, args)
			s.Provider.Fault = func(r providertest.Request) *providertest.Fault {
				got = Asked{Args: a.Args, Path: r.Path, Model: r.Model, Stream: r.Stream}
				return nil
			}
			return s
		}, append([]string{"-calls", "1"}, a.Args...))
		if !reflect.DeepEqual(got, a) {
			t.Errorf("asked %+v, expected %+v", got, a)
		}
	}
}

// play runs in a bubble, so that its clock runs as fast as it can.
func play(t *testing.T, stage func(t *testing.T, args []string) Stage, args []string) (out, progress string, seen providertest.Ledger) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := stage(t, args)
		provider, err := providertest.New(s.Provider)
		if err != nil {
			t.Fatal(err)
		}
		defer provider.Close()
		limiters := Limiters(nil)
		var figures, news bytes.Buffer
		r := &questions.Run{Settings: s.Settings, Limiters: limiters, Provider: provider, Out: &figures, Progress: &news}
		if err := r.Do(t.Context(), s.Ask(provider.Transport(), limiters)); err != nil {
			t.Fatal(err)
		}
		out, progress, seen = figures.String(), news.String(), provider.Ledger()
	})
	return out, progress, seen
}

// figure reads the first number that the pattern captures in out.
func figure(t *testing.T, pattern, out string) float64 {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(out)
	if found == nil {
		t.Fatalf("%s is not in:\n%s", pattern, out)
	}
	n, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
