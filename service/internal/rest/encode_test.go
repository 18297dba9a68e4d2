package rest

import (
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/service/internal/decide"
)

// What is documented of an answer, for encoding/json.
type (
	namedJSON struct {
		Scope      string `json:"scope,omitempty"`
		Identifier string `json:"identifier,omitempty"`
		Resource   string `json:"resource,omitempty"`
	}
	resultJSON struct {
		namedJSON

		Allowed        bool          `json:"allowed"`
		Remaining      int64         `json:"tokens_remaining"`
		Capacity       int64         `json:"tokens_capacity"`
		RetryAfter     *float64      `json:"retry_after_seconds"`
		ResetAt        *string       `json:"reset_at"`
		Degraded       bool          `json:"degraded"`
		DegradedReason decide.Reason `json:"degraded_reason,omitempty"`
		Rule           string        `json:"rule,omitempty"`
		Permit         string        `json:"permit,omitempty"`
		Error          *errorOut     `json:"error,omitempty"`
	}
	allJSON struct {
		Allowed        bool          `json:"allowed"`
		RetryAfter     *float64      `json:"retry_after_seconds"`
		Degraded       bool          `json:"degraded"`
		DegradedReason decide.Reason `json:"degraded_reason,omitempty"`
		Permit         string        `json:"permit,omitempty"`
		Blocking       *namedJSON    `json:"blocking,omitempty"`
		Tightest       *namedJSON    `json:"most_restrictive,omitempty"`
		Results        []resultJSON  `json:"results"`
		Error          *errorOut     `json:"error,omitempty"`
	}
)

func retryJSON(d time.Duration) *float64 {
	if d == decide.Never {
		return nil
	}
	return new(seconds(d))
}

func (r *resultOut) json() resultJSON {
	return resultJSON{
		namedJSON(r.named), r.Allowed, r.Remaining, r.Capacity, retryJSON(r.RetryAfter), when(r.ResetAt), r.Degraded != "", r.Degraded, r.Rule, r.Permit, r.Error,
	}
}

func (a *allOut) json() allJSON {
	out := allJSON{
		a.Allowed, retryJSON(a.RetryAfter), a.Degraded != "", a.Degraded, a.Permit, (*namedJSON)(a.Blocking), (*namedJSON)(a.Tightest), []resultJSON{}, a.Error,
	}
	for i := range a.Results {
		out.Results = append(out.Results, a.Results[i].json())
	}
	return out
}

func anyText(t *rapid.T) string {
	return rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z_/.:]{0,12}`), rapid.SampledFrom([]string{"", "\xff", "\u2028", "<&>", `"\`, "\x7f", "é"})).Draw(t, "text")
}

func anyNamed(t *rapid.T) named { return named{anyText(t), anyText(t), anyText(t)} }

func anyWait(t *rapid.T) time.Duration {
	return rapid.OneOf(rapid.Just(decide.Never), rapid.Just(time.Duration(0)), rapid.Map(rapid.Int64Range(0, 1<<50), func(n int64) time.Duration { return time.Duration(n) })).Draw(t, "wait")
}

func anyError(t *rapid.T) *errorOut {
	if rapid.Bool().Draw(t, "without an error") {
		return nil
	}
	return &errorOut{anyText(t), anyText(t), anyText(t)}
}

func anyResult(t *rapid.T) resultOut {
	r := resultOut{
		named: anyNamed(t), Allowed: rapid.Bool().Draw(t, "allowed"), Remaining: rapid.Int64().Draw(t, "remaining"), Capacity: rapid.Int64().Draw(t, "capacity"),
		RetryAfter: anyWait(t), Degraded: decide.Reason(anyText(t)), Rule: anyText(t), Permit: anyText(t), Error: anyError(t),
	}
	if rapid.Bool().Draw(t, "resets") {
		r.ResetAt = time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "reset"), rapid.Int64Range(0, 999_999_999).Draw(t, "part"))
	}
	return r
}

// A long time to wait is no power of ten.
func TestTheTimeToWaitIsWrittenInFull(t *testing.T) {
	e := exceeded(&decide.Result{Rule: "monthly", Capacity: 10, RetryAfter: 30*24*time.Hour + 500*time.Millisecond})
	assert.Equal(t, "the limit monthly of 10 tokens is used up: retry after 2592000.5 s", e.Message)
}

// An answer is what encoding/json writes.
func TestAnswersAreThoseOfEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one := anyResult(t)
		all := allOut{
			Allowed: rapid.Bool().Draw(t, "allowed"), RetryAfter: anyWait(t), Degraded: decide.Reason(anyText(t)), Permit: anyText(t),
			Results: rapid.SliceOfN(rapid.Custom(anyResult), 0, 3).Draw(t, "results"), Error: anyError(t),
		}
		if rapid.Bool().Draw(t, "blocked") {
			all.Blocking, all.Tightest = new(anyNamed(t)), new(anyNamed(t))
		}
		for _, of := range []struct {
			got  []byte
			want any
		}{{one.appendObject(nil), one.json()}, {all.appendObject(nil), all.json()}} {
			want, err := json.Marshal(of.want)
			if err != nil {
				t.Fatal(err)
			}
			if string(of.got) != string(want) {
				t.Fatalf("%s\nis not\n%s", of.got, want)
			}
		}
	})
}

// A structured field is what httpsfv writes, and is left out if httpsfv refuses it.
func TestFieldsAreThoseOfHTTPSFV(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := decide.Result{Windows: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) decide.Window {
			w := decide.Window{Name: anyText(t), Quota: rapid.Int64Range(1, 1<<40).Draw(t, "q"), Left: rapid.Int64Range(0, 1<<40).Draw(t, "r")}
			if rapid.Bool().Draw(t, "refills") {
				w.Per = time.Duration(rapid.Int64Range(1, math.MaxInt64).Draw(t, "w"))
				w.ResetsIn = time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "t"))
			}
			return w
		}), 0, 4).Draw(t, "windows")}
		h, f := http.Header{}, fields{}
		f.result(&r, 0, true)
		f.set(h)
		var policies, left httpsfv.List
		for _, x := range r.Windows {
			p, l := httpsfv.NewItem(x.Name), httpsfv.NewItem(x.Name)
			p.Params.Add("q", x.Quota)
			l.Params.Add("r", x.Left)
			if x.Per > 0 {
				p.Params.Add("w", max(1, whole(x.Per)))
				l.Params.Add("t", whole(x.ResetsIn))
			}
			policies, left = append(policies, p), append(left, l)
		}
		for name, list := range map[string]httpsfv.List{"RateLimit-Policy": policies, "RateLimit": left} {
			want, err := httpsfv.Marshal(list)
			if err != nil {
				want = ""
			}
			if got := strings.Join(h.Values(name), "|"); got != want {
				t.Fatalf("%s: %q is not %q", name, got, want)
			}
		}
	})
}

// The values of fields are apart: what is appended to one does not change the next.
func TestFieldsAreApart(t *testing.T) {
	var f fields
	h := http.Header{}
	for range 2 { // again, with the same memory
		f.add("A", "one")
		f.addInt("B", 2)
		f.degraded("three")
		f.text = append(f.text, "dropped"...)
		f.drop()
		f.set(h)
		assert.Equal(t, http.Header{"A": {"one"}, "B": {"2"}, "X-Ratelimit-Degraded": {"true"}, "X-Ratelimit-Degraded-Reason": {"three"}}, h)
	}
	h.Add("A", "more")
	assert.Equal(t, "2", h.Get("B"))
}

// FuzzScan compares what is scanned with what encoding/json decodes.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		`{"identifier":"a","resource":"x"}`, ` { "scope" : "org", "tokens":5 ,"dry_run":true}` + "\n", `{"tokens":0123}`, `{"tokens":-1}`, `{"tokens":1e3}`, `{"tokens":9999999999}`,
		`{"identifier":"a","identifier":"b"}`, `{"Identifier":"a"}`, `{"identifier":null}`, `{"identifier":"\u0061"}`, "{\"identifier\":\"\xff\"}", `{"identifier":"é"}`, `{}`, `[]`, `null`,
		`{"identifier":"a"} {}`, `{"identifier":"a",}`, `{,"identifier":"a"}`, `{"identifier":"a"`, `{"dry_run":falsely}`, `{"metadata":{"user":"a"}}`, `{"tokens":1.}`, `{"tokens":00}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		var got, want checkIn
		if !got.scan(body) {
			require.Equal(t, checkIn{}, got, "it is left to encoding/json, and has changed")
			return
		}
		require.NoError(t, decode(strings.NewReader(body), &want), body)
		require.Equal(t, want, got, body)
	})
}

// The usual check is scanned.
func TestUsualChecksAreScanned(t *testing.T) {
	var c checkIn
	require.True(t, c.scan(`{"identifier": "alice", "resource": "search", "tokens": 4, "scope": "org", "dry_run": true}`))
	assert.Equal(t, checkIn{Scope: "org", Identifier: "alice", Resource: "search", Tokens: new(int64(4)), DryRun: true}, c)
}

// Reading a check and writing its answer need memory for the header alone, once the scratch has grown.
func TestMemoryIsUsedAgain(t *testing.T) {
	x := new(scratch)
	h := http.Header{}
	r := decide.Result{Rule: "user/search", Capacity: 10, Remaining: 9, ResetAt: time.Unix(1, 0), Windows: []decide.Window{{Name: "user/search", Quota: 10, Per: time.Second, Left: 9}}}
	run := func() {
		var in checkIn
		require.True(t, in.scan(`{"identifier":"alice","resource":"search"}`))
		out := resultOf(&r, true)
		x.out = out.appendObject(x.out[:0])
		x.fields.result(&r, 0, true)
		x.fields.set(h)
	}
	run()
	assert.LessOrEqual(t, testing.AllocsPerRun(100, run), 2.0, "the values of the header and their string")
}
