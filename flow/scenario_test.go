package flow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/retry"
)

// statusError is the error of an SDK as most are: a status and the response.
type statusError struct {
	StatusCode int
	Response   *http.Response
}

func (e *statusError) Error() string { return "status " + http.StatusText(e.StatusCode) }

// ask sends one prompt under key and returns the answer.
func ask(ctx context.Context, client *http.Client, key, prompt string) (string, error) {
	body := fmt.Sprintf(`{"model": "m", "messages": [{"role": "user", "content": %q}]}`, prompt)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.example.com/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Idempotency-Key", key)
	res, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return "", &statusError{res.StatusCode, res}
	}
	var answer struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return "", err
	}
	return answer.Choices[0].Message.Content, nil
}

// library is the state of the scenario, doc the T of its batch of flows.
type (
	library struct{ Titles, Abstracts []string }
	doc     struct {
		Title    string
		Pages    []string
		Notes    []string
		Abstract string
	}
	page struct{ Doc, Text string }
)

// A provider with limits that it does not tell, and documents that are worked
// on in parallel, each page by page and then as a whole. All of it gets done,
// and nothing twice.
func TestAWholeFlowAgainstAProviderWithHiddenLimits(t *testing.T) {
	const docs, pages = 12, 15
	synctest.Test(t, func(t *testing.T) {
		provider, err := providertest.New(providertest.Config{
			Limits: providertest.Limits{
				Concurrency: 6,
				Rate:        providertest.Bucket{PerSecond: 10, Burst: 10},
			},
			RetryAfter: providertest.RetryAfterMillis,
			Latency:    providertest.Uniform{Min: 200 * time.Millisecond, Max: 600 * time.Millisecond},
			Seed:       7,
			Fault: func() func(providertest.Request) *providertest.Fault {
				broken := true
				return func(r providertest.Request) *providertest.Fault {
					if r.Key == "doc 3, page 3" && broken {
						broken = false
						return &providertest.Fault{Status: http.StatusInternalServerError}
					}
					return nil
				}
			}(),
		})
		require.NoError(t, err)
		defer provider.Close()
		client := &http.Client{Transport: provider.Transport()}
		key, err := guard.New(guard.Policy{Name: "provider", Law: adaptive.AIMD{Initial: 12, Max: 16, RecoveryThreshold: 5}})
		require.NoError(t, err)

		load := node.Do("load", func(_ context.Context, d *doc) error {
			for i := range pages {
				d.Pages = append(d.Pages, fmt.Sprintf("%s, page %d", d.Title, i))
			}
			return nil
		})
		read := node.BatchFunc("read",
			func(_ context.Context, d *doc) (iter.Seq2[page, error], error) {
				return func(yield func(page, error) bool) {
					for _, p := range d.Pages {
						if !yield(page{d.Title, p}, nil) {
							return
						}
					}
				}, nil
			},
			func(ctx context.Context, p page) (string, error) { return ask(ctx, client, p.Text, p.Text+".") },
			func(_ context.Context, d *doc, r *node.Report[page, string]) (node.Action, error) {
				d.Notes = r.Values()
				return node.Next, r.Err()
			}).WithParallel(8).With(guard.Policy{Within: []*guard.Guard{key}, Propagate: true}).WithRetry(retry.Policy{})
		sum := node.Do("sum", func(ctx context.Context, d *doc) (err error) {
			d.Abstract, err = ask(ctx, client, d.Title, fmt.Sprintf("%s has %d pages.", d.Title, len(d.Notes)))
			return err
		}).With(guard.Policy{Within: []*guard.Guard{key}, Propagate: true})
		perDoc := flow.New("doc", load).Then(read).Then(sum)

		all := flow.Batch("docs",
			func(_ context.Context, l *library) (iter.Seq2[doc, error], error) {
				return func(yield func(doc, error) bool) {
					for _, title := range l.Titles {
						if !yield(doc{Title: title}, nil) {
							return
						}
					}
				}, nil
			},
			perDoc,
			func(_ context.Context, l *library, r *node.Report[doc, doc]) (node.Action, error) {
				for _, d := range r.Values() {
					l.Abstracts = append(l.Abstracts, d.Abstract)
				}
				return node.Next, r.Err()
			}).WithParallel(4).With(guard.Policy{Law: adaptive.AIMD{Initial: 4, Max: 4, RecoveryThreshold: 2}})

		l := &library{}
		var keys, abstracts []string
		for i := range docs {
			title := fmt.Sprintf("doc %d", i)
			l.Titles = append(l.Titles, title)
			keys = append(keys, title)
			abstracts = append(abstracts, fmt.Sprintf("%s has %d pages.", title, pages))
			for j := range pages {
				keys = append(keys, fmt.Sprintf("%s, page %d", title, j))
			}
		}
		report, err := flow.Run(t.Context(), flow.New("library", all), l)
		require.NoError(t, err)
		require.Equal(t, abstracts, l.Abstracts)

		ledger := provider.Ledger()
		require.True(t, ledger.Audit(slices.Values(keys)).OK(), "nothing lost, nothing twice")
		require.Equal(t, int64(ledger.Refused), report.Limiters["provider"].Hits)
		require.Equal(t, flow.NodeReport{Runs: docs, Done: docs * pages, Retries: 1}, report.Nodes["read"]) // the status 500
		require.Equal(t, flow.NodeReport{Runs: 1, Done: docs}, report.Nodes["docs"])
		require.NotContains(t, report.Nodes, "provider", "it is a limiter and no node")
		require.Equal(t, int64(1+3*docs), report.Steps)
		require.Positive(t, report.Limiters["provider"].Cuts)
		require.Positive(t, report.Limiters["provider"].Recoveries)
		require.Positive(t, report.Limiters["docs"].Cuts, "the hits went up")
		t.Logf("%d calls, %d refused, in %s of virtual time; %+v", ledger.Arrivals, ledger.Refused, report.Elapsed, report.Limiters)
	})
}
