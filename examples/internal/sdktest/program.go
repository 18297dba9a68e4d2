package sdktest

import (
	"bytes"
	"context"
	"flag"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/headrace/headrace/examples/internal/questions"
	"github.com/headrace/headrace/providertest"
)

// Real says how a program's SDK goes to the real service, which is another
// provider for tests here.
type Real struct {
	Variable      string // of the environment, where the service's URL stands
	Path          string // at the end of that
	Field, Prefix string // of the header: where the key goes, and what stands before it
}

// Run runs a whole program, with sockets and the clock as they are. The key in
// its environment stays there.
func (r Real) Run(t *testing.T, run questions.Program) {
	t.Helper()
	service := witness(t)
	t.Setenv(r.Variable, service.url+r.Path)
	var out, progress bytes.Buffer
	if err := run(t.Context(), []string{"-calls", "5"}, key, &out, &progress); err != nil {
		t.Fatal(err)
	}
	if served, lost := figure(t, `(\d+) served`, out.String()), figure(t, `(\d+) lost`, out.String()); served != 5 || lost != 0 {
		t.Errorf("%v served, %v lost", served, lost)
	}
	if seen := service.told(r.Field); len(seen) > 0 {
		t.Errorf("without --real nothing goes to the service: %q", seen)
	}
}

// RunReal runs a program that takes its key to the real service, and nowhere else.
func (r Real) RunReal(t *testing.T, run questions.Program) {
	t.Helper()
	service := witness(t)
	t.Setenv(r.Variable, service.url+r.Path)
	var out, progress bytes.Buffer
	err := run(t.Context(), []string{"-real", "-calls", "3"}, key, &out, &progress)
	http.DefaultClient.CloseIdleConnections()
	if err != nil {
		t.Fatal(err)
	}
	if seen := service.told(r.Field); !slices.Equal(seen, slices.Repeat([]string{r.Prefix + Canary}, 3)) {
		t.Errorf("the service saw %q", seen)
	}
	if said := out.String() + progress.String(); strings.Contains(said, Canary) || strings.Contains(said, "ledger") {
		t.Errorf("it says more than it may:\n%s", said)
	}
}

// Refuses proves that a program does not begin with some arguments, each by a word of its error, nor when it is
// interrupted already.
func Refuses(t *testing.T, run questions.Program, own map[string][]string) {
	t.Helper()
	all := map[string][]string{
		"must be at least 1":     {"-calls", "0"},
		"flag provided but not":  {"-reel"},
		flag.ErrHelp.Error():     {"-help"},
		context.Canceled.Error(): nil,
	}
	maps.Copy(all, own)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for want, args := range all {
		err := run(ctx, args, func(string) string { return "" }, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, expected %q", args, err, want)
		}
	}
}

func key(string) string { return Canary }

// service is a provider that writes down the header of each request.
type service struct {
	url  string
	mu   sync.Mutex // guards seen
	seen []http.Header
}

func witness(t *testing.T) *service {
	t.Helper()
	s := &service{}
	provider, err := providertest.New(providertest.Config{Fault: func(r providertest.Request) *providertest.Fault {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.seen = append(s.seen, r.Header.Clone())
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(provider.Close)
	s.url = provider.URL()
	return s
}

// told returns one field of each.
func (s *service) told(field string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var values []string
	for _, header := range s.seen {
		values = append(values, header.Get(field))
	}
	return values
}
