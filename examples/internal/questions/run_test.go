package questions

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/registry"
)

// fresh is a run of that many calls without observers.
func fresh(t *testing.T, calls int) *Run {
	t.Helper()
	limiters, err := registry.New(registry.Config{})
	require.NoError(t, err)
	return &Run{Settings: Settings{Calls: calls, Parallel: 3}, Limiters: limiters, Out: io.Discard, Progress: io.Discard}
}

func TestDoAsksEachQuestionOnce(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{}
	var out bytes.Buffer
	r := fresh(t, 7)
	r.Out = &out
	require.NoError(t, r.Do(t.Context(), func(_ context.Context, q Question) (Answer, error) {
		mu.Lock()
		defer mu.Unlock()
		asked[q.Key]++
		return Answer{Tokens: 3}, nil
	}))
	require.Len(t, asked, 7)
	require.Equal(t, 1, asked["question-007"])
	require.Contains(t, out.String(), "0 failed, 21 tokens\n")
	require.NotContains(t, out.String(), "ledger", "the real service has none")
}

// A stream that breaks off is asked for again, and nothing else is.
func TestDoAsksAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		broken, cancelled bool
		asks              int
	}{
		"a stream":                  {broken: true, asks: 3},
		"an error":                  {asks: 1},
		"a stream, but who listens": {broken: true, cancelled: true, asks: 1},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			asks := 0
			err := fresh(t, 1).Do(ctx, func(context.Context, Question) (Answer, error) {
				asks++
				if tc.cancelled {
					cancel()
				}
				return Answer{Broken: tc.broken}, io.ErrUnexpectedEOF
			})
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			require.ErrorContains(t, err, "1 of 1 calls failed: question-001")
			require.Equal(t, tc.asks, asks)
		})
	}
}

func TestDoEndsEarly(t *testing.T) {
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	r := fresh(t, 100)
	require.ErrorIs(t, r.Do(ctx, nil), why, "it asked after its end")
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var news bytes.Buffer
		r := fresh(t, 6)
		r.Progress = &news
		require.NoError(t, r.Do(t.Context(), func(context.Context, Question) (Answer, error) {
			time.Sleep(800 * time.Millisecond)
			return Answer{}, nil
		}))
		require.Equal(t, "    1 s  3 of 6\n", news.String())
	})
}

// What a run says of a provider that loses a call.
func TestReportTellsOfLosses(t *testing.T) {
	provider, err := providertest.New(providertest.Config{})
	require.NoError(t, err)
	defer provider.Close()
	r := fresh(t, 2)
	r.Provider = provider
	r.note(1, io.ErrUnexpectedEOF)
	err = r.report(nil)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.ErrorContains(t, err, "1 of 2 calls failed: question-001")
	require.ErrorContains(t, err, "lost: [question-001 question-002]")
	require.NotContains(t, r.report(context.Canceled).Error(), "lost", "nobody expects all of an interrupted run")
}

func TestFlags(t *testing.T) {
	s := Settings{RPM: 42}
	var usage strings.Builder
	flags := s.Flags("mill", "About the mill.", &usage)
	require.NoError(t, flags.Parse([]string{"-calls", "5", "-stream"}))
	require.Equal(t, Settings{Calls: 5, Parallel: 32, RPM: 42, Stream: true}, s)
	flags.Usage()
	require.Regexp(t, `(?s)^About the mill\.\n.*-rpm requests.*default 42`, usage.String())
}

// One of ten calls is spoilt, and never the same one twice.
func TestBadDay(t *testing.T) {
	require.Nil(t, (&Settings{}).Provider(providertest.Limits{}).Fault)
	fault := (&Settings{Faults: true}).Provider(providertest.Limits{}).Fault
	spoilt := 0
	for n := range 200 {
		r := providertest.Request{Key: key(n + 1)}
		if fault(r) != nil {
			spoilt++
		}
		require.Nil(t, fault(r))
	}
	require.Equal(t, 20, spoilt)
	require.Nil(t, fault(providertest.Request{Key: "somebody else"}))
}
