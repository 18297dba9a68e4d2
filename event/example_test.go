package event_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/headrace/headrace/event"
)

// Everything that runs under the context tells both observers.
func Example() {
	hits := 0
	count := event.Func(func(e event.Event) {
		if e.Kind == event.LimiterHit {
			hits++ // one goroutine in this example; use sync/atomic in a program
		}
	})
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTime}))

	ctx := event.With(context.Background(), event.Tee(count, event.Slog(log)))

	// What a limiter does:
	hit := event.New(time.Now(), event.LimiterHit, "openai")
	hit.Wait, hit.Reason = 2*time.Second, "429 with Retry-After"
	event.From(ctx).Observe(hit)
	cut := event.New(time.Now(), event.LimiterCut, "openai")
	cut.From, cut.To = 8, 4
	event.From(ctx).Observe(cut)

	fmt.Println("hits:", hits)
	// Output:
	// level=INFO msg="headrace event" kind=limiter.hit source=openai wait_ms=2000 reason="429 with Retry-After"
	// level=WARN msg="headrace event" kind=limiter.cut source=openai from=8 to=4
	// hits: 1
}

// A buffer keeps an observer that is slow out of the way of the work.
func ExampleNewBuffer() {
	slow := event.Func(func(e event.Event) { fmt.Println(e.Kind, e.Source) })
	buffer, err := event.NewBuffer(100, slow)
	if err != nil {
		fmt.Println(err)
		return
	}
	buffer.Observe(event.New(time.Now(), event.NodeStarted, "enrich"))
	buffer.Observe(event.New(time.Now(), event.NodeFinished, "enrich"))
	buffer.Close() // delivers what is left
	fmt.Println("dropped:", buffer.Dropped())
	// Output:
	// node.started enrich
	// node.finished enrich
	// dropped: 0
}

// Hits are written at Info; this program wants to be woken by them.
func ExampleWithLevel() {
	level := func(e event.Event, usual slog.Level) slog.Level {
		if e.Kind == event.LimiterHit {
			return slog.LevelError
		}
		return usual
	}
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
	observer := event.Slog(log, event.WithLevel(level))
	observer.Observe(event.New(time.Now(), event.LimiterHit, "openai"))
	// Output:
	// level=ERROR msg="headrace event" kind=limiter.hit source=openai
}

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}
