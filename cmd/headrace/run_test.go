package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/providertest"
)

func TestTheLinesOfResults(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{Reply: func(providertest.Request) string { return "a<b>" }})
	p.requests(1)
	status, _, errs := p.run("--report", "report.json")
	require.Zero(t, status, errs)
	assert.Contains(t, errs, "1 request: 1 done, 0 failed")
	created := p.read("r.results.jsonl")
	i := strings.Index(created, `"created":`) + len(`"created":`)
	created = created[i : i+strings.IndexByte(created[i:], ',')]
	assert.Equal(t, `{"id":"batch_req_41587fc0d6aa77e73680d212","custom_id":"r0","response":{"status_code":200,"request_id":"req_000000000001",`+
		`"body":{"id":"chatcmpl-000000000001","object":"chat.completion","created":`+created+`,"model":"m","choices":[{"index":0,`+
		`"message":{"role":"assistant","content":"a\u003cb\u003e","refusal":null},"logprobs":null,"finish_reason":"stop"}],`+
		`"usage":{"prompt_tokens":8,"completion_tokens":1,"total_tokens":9}}},"error":null}`+"\n", p.read("r.results.jsonl"))
	assert.NoFileExists(t, p.path("r.errors.jsonl"))

	var report struct {
		Counts map[string]int `json:"counts"`
		Run    json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(p.read("report.json")), &report))
	assert.Equal(t, map[string]int{"total": 1, "done": 1, "resumed": 0, "failed": 0, "left": 0, "changed": 0, "leftover": 0, "stale": 0}, report.Counts)
	assert.NotEmpty(t, report.Run)

	first := p.read("r.results.jsonl")
	require.NoError(t, os.Remove(p.path("r.results.jsonl")))
	status, _, errs = p.run()
	require.Zero(t, status, errs)
	assert.Equal(t, first, p.read("r.results.jsonl"), "written again from the journal, byte for byte")
	assert.Equal(t, 1, p.provider.Counts().Arrivals)
}

// The estimate says what it leaves out.
func TestDryRunCountsBoundedOutput(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	bounded := strings.Replace(request(0), `"body":{`, `"body":{"max_tokens":500,`, 1)
	p.write("r.jsonl", bounded+`{"custom_id":"e","method":"POST","url":"/v1/embeddings","body":{"model":"m","input":"Hi there."}}`+"\n")
	_, out, _ := p.do("run", "r.jsonl", "--dry-run")
	assert.Contains(t, out, " in the prompts (estimated)\n")
	p.write("r.jsonl", bounded+request(1))
	_, out, _ = p.do("run", "r.jsonl", "--dry-run")
	assert.Contains(t, out, " in the prompts (estimated), plus the output of 1 request without max_tokens\n")
}

func TestAnArrayOfRequests(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.write("r.jsonl", "["+strings.TrimSpace(request(0))+",\n"+strings.TrimSpace(request(1))+"]\n")
	status, _, errs := p.run()
	assert.Equal(t, 2, status)
	assert.Contains(t, errs, "r.jsonl: none of its first 2 lines is a JSON object (line 1: ")
	assert.NoFileExists(t, p.path("r.errors.jsonl"))
	assert.Zero(t, p.provider.Counts().Arrivals)
}

func TestNoRequests(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.write("r.jsonl", "\n \n")
	status, _, errs := p.run()
	assert.Zero(t, status)
	assert.Contains(t, errs, "\n0 requests: 0 done, 0 failed, in ")
	assert.Contains(t, errs, "\nr.jsonl has no requests: each is a JSON object in a line of its own\n")
}

func TestAnthropic(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.write("r.jsonl", `{"custom_id":"a","params":{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi there."}]}}`+"\n")
	status, _, errs := p.run("--format", "anthropic")
	require.Zero(t, status, errs)
	assert.Regexp(t, `^\{"custom_id":"a","result":\{"type":"succeeded","message":\{"id":"[^"]+","type":"message",.*\}\}\}\n$`, p.read("r.results.jsonl"))
	first := p.read("r.results.jsonl")
	require.NoError(t, os.Remove(p.path("r.results.jsonl")))
	status, _, errs = p.run("--format", "anthropic")
	require.Zero(t, status, errs)
	assert.Equal(t, first, p.read("r.results.jsonl"), "written again from the journal")
	status, _, errs = p.run("--format", "anthropic")
	require.Zero(t, status, errs)
	assert.Equal(t, first, p.read("r.results.jsonl"))

	status, _, errs = p.run("--out", "other.jsonl", "--errors", "e.jsonl")
	require.Equal(t, 2, status)
	assert.Contains(t, errs, "use --format anthropic")
	assert.NoFileExists(t, p.path("e.jsonl"), "nothing is recorded that the right format would have to forget")
	status, _, errs = p.run("--out", "other.jsonl", "--errors", "e.jsonl", "--format", "anthropic")
	require.Zero(t, status, errs)
}

// Invalid lines are reported with their number, and the valid ones are sent.
func TestBadLines(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.write("r.jsonl", "\xef\xbb\xbf"+request(0)+"nonsense\n\n{}\n"+request(1)+request(0)+
		`{"custom_id":"x","url":"https://evil.example/v1/chat/completions","body":{}}`+"\n"+
		`{"custom_id":"y","method":"GET","url":"/v1/models","body":{}}`+"\n"+
		`{"custom_id":"z","url":"/v1/chat/completions"}`+"\n"+
		`{"custom_id":"s","url":"/v1/chat/completions","body":{"stream":true}}`+"\n"+strings.TrimSuffix(request(2), "\n"))
	status, _, errs := p.run("--strict")
	require.Equal(t, 2, status)
	assert.Contains(t, errs, "7 of 10 lines are invalid: with --strict, nothing was sent")
	assert.Zero(t, p.provider.Counts().Arrivals)

	for range 2 {
		status, _, errs = p.run()
		require.Equal(t, 1, status, errs)
		assert.Contains(t, errs, "r.jsonl:2: not a request")
		assert.Contains(t, errs, "first failure: line ")
		assert.NotContains(t, errs, "item.retry")
		assert.Contains(t, errs, "r.jsonl:6: custom_id is the same as on line 1")
		assert.Contains(t, errs, "r.jsonl:7: url has another host than --base-url")
		assert.Equal(t, 3, unique(p.lines("r.results.jsonl")))
		told := map[int]string{}
		for _, l := range p.lines("r.errors.jsonl") {
			assert.Equal(t, "bad_line", l.Error.Code)
			told[l.Error.Line] = l.Error.Message
		}
		require.Len(t, p.lines("r.errors.jsonl"), 7)
		for n, want := range map[int]string{
			2: "not a request", 4: "custom_id is missing", 6: "the same as on line 1", 7: "another host", 8: "only POST", 9: "body is missing", 10: "stream",
		} {
			assert.Contains(t, told[n], want)
		}
	}
	assert.Equal(t, 3, p.provider.Counts().Arrivals)
}

// A line for another host is found before the first call, as other invalid lines are. When it is corrected, it is a new request.
func TestALineForAnotherHost(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	foreign := strings.Replace(request(1), `"/v1/chat`, `"https://evil.example/v1/chat`, 1)
	p.write("r.jsonl", request(0)+foreign)
	status, _, errs := p.run("--strict")
	require.Equal(t, 2, status)
	assert.Contains(t, errs, "1 of 2 lines are invalid: with --strict, nothing was sent")
	status, out, _ := p.run("--dry-run")
	require.Equal(t, 1, status)
	assert.Contains(t, out, "requests:  1, and 1 that cannot be sent")
	assert.Zero(t, p.provider.Counts().Arrivals)
	status, _, errs = p.run()
	require.Equal(t, 1, status, errs)
	assert.Len(t, p.lines("r.errors.jsonl"), 1)
	p.requests(2)
	status, _, errs = p.run("--retry-failed")
	require.Zero(t, status, errs)
	assert.Equal(t, 2, unique(p.lines("r.results.jsonl")))
	assert.Empty(t, p.lines("r.errors.jsonl"))
}

func TestInvalidLinesAmongOtherFailures(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{Fault: func(providertest.Request) *providertest.Fault { return &providertest.Fault{Status: 400} }})
	p.write("r.jsonl", request(0)+unsendable)
	status, _, errs := p.run()
	require.Equal(t, 1, status, errs)
	assert.Contains(t, errs, "\ncorrect the invalid lines and use --retry-failed, which also removes their failures and retries the others\n")
}

func TestFailuresAndTryingThemAgain(t *testing.T) {
	t.Parallel()
	broken := make(chan struct{})
	p := newPlace(t, providertest.Config{Fault: func(r providertest.Request) *providertest.Fault {
		select {
		case <-broken:
			return nil
		default:
		}
		switch {
		case strings.Contains(r.Messages[0].Content, ">1<"):
			return &providertest.Fault{Status: 400, Body: "{\"error\": {\n\"message\": \"too <long>\"}}"}
		case strings.Contains(r.Messages[0].Content, ">2<"):
			return &providertest.Fault{Status: 500}
		}
		return nil
	}})
	p.requests(5)
	for range 2 { // the second finds them recorded
		status, _, errs := p.run("--max-attempts", "2")
		require.Equal(t, 1, status, errs)
		assert.Contains(t, errs, "--retry-failed retries the failures")
		assert.Regexp(t, `first failure: r1: too <long>|first failure: r2, after 2 attempts: `, errs)
		assert.Len(t, p.lines("r.results.jsonl"), 3)
		failed := map[string]line{}
		for _, l := range p.lines("r.errors.jsonl") {
			failed[l.CustomID] = l
		}
		require.Len(t, failed, 2)
		assert.Equal(t, `{"error":{"message":"too <long>"}}`, string(failed["r1"].Response.Body))
		assert.Nil(t, failed["r1"].Error, "the answer tells all")
		assert.Equal(t, 500, failed["r2"].Response.StatusCode)
		assert.Equal(t, 3+1+2, p.provider.Counts().Arrivals)
	}
	before := p.lines("r.errors.jsonl")
	require.NoError(t, os.Remove(p.path("r.errors.jsonl")))
	status, _, _ := p.run()
	require.Equal(t, 1, status)
	assert.ElementsMatch(t, before, p.lines("r.errors.jsonl"), "written again, bodies and all")

	close(broken)
	status, _, errs := p.run("--retry-failed")
	require.Zero(t, status, errs)
	assert.Len(t, p.lines("r.results.jsonl"), 5)
	assert.Equal(t, 5, unique(p.lines("r.results.jsonl")))
	assert.NoFileExists(t, p.path("r.errors.jsonl"), "what succeeds later is no failure any more")
	assert.Equal(t, 3+1+2+2, p.provider.Counts().Arrivals)
}

func TestFailuresForNobody(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.write("r.jsonl", request(0)+"nonsense\n"+request(1))
	for range 2 {
		status, _, errs := p.run("--errors", os.DevNull)
		require.Equal(t, 1, status, errs)
		assert.Contains(t, errs, "1 failed")
		assert.Len(t, p.lines("r.results.jsonl"), 2)
	}
	assert.Equal(t, 2, p.provider.Counts().Arrivals)
}

// Also where some fail in the middle, and the others come late.
func TestOrdered(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{
		Latency: providertest.Uniform{Max: 30 * time.Millisecond},
		Fault: func(r providertest.Request) *providertest.Fault {
			if strings.Contains(r.Messages[0].Content, "7<") {
				return &providertest.Fault{Status: 400}
			}
			return nil
		},
	})
	p.requests(60)
	for range 2 {
		status, _, errs := p.run("--ordered", "--concurrency", "5")
		require.Equal(t, 1, status, errs)
		done, failed := p.lines("r.results.jsonl"), p.lines("r.errors.jsonl")
		for i := range 60 {
			from := &done
			if i%10 == 7 {
				from = &failed
			}
			require.NotEmpty(t, *from)
			assert.Equal(t, fmt.Sprint("r", i), (*from)[0].CustomID)
			*from = (*from)[1:]
		}
		assert.Empty(t, append(done, failed...))
	}
	assert.Equal(t, 60, p.provider.Counts().Arrivals)
	assert.LessOrEqual(t, p.provider.Counts().PeakInFlight, 5, "what is begun and waits is not in flight")
}

func TestStandardInputAndOutput(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	cmd := p.command("run", "-", "--out", "-", "--api-key-env", "KEY", "--base-url", p.provider.URL())
	cmd.Stdin = strings.NewReader(request(0) + "nonsense\n" + request(1))
	status, out, errs := p.end(cmd, cmd.Run)
	require.Equal(t, 1, status, errs)
	assert.Equal(t, 2, unique(parse(t, out)))
	assert.Len(t, p.lines("headrace.errors.jsonl"), 1)

	// With a file for results, a repeated line is sent once, and one that differs is reported.
	for _, ordered := range []string{"--ordered=false", "--ordered"} {
		cmd = p.command("run", "-", "--fresh", "--out", "o.jsonl", "--errors", "e.jsonl", "--concurrency", "1", ordered, "--api-key-env", "KEY", "--base-url", p.provider.URL())
		cmd.Stdin = strings.NewReader(request(0) + request(0) + strings.Repeat("nonsense\n", 2) + strings.Replace(request(0), "Tell", "Sing", 1))
		status, _, errs = p.end(cmd, cmd.Run)
		require.Equal(t, 1, status, errs)
		assert.Contains(t, errs, `-:5: custom_id "r0" already has the result of a different request`)
		assert.Len(t, p.lines("o.jsonl"), 1, ordered)
		assert.Len(t, p.lines("e.jsonl"), 1, ordered)
	}
}

// The first bad line of standard input is the end of it with --strict: what was sent before is kept.
func TestStrictOnStandardInput(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	cmd := p.command("run", "-", "--strict", "--concurrency", "1", "--base-url", p.provider.URL())
	cmd.Stdin = strings.NewReader(request(0) + "nonsense\n" + request(1))
	status, _, errs := p.end(cmd, cmd.Run)
	require.Equal(t, 1, status, errs)
	assert.Contains(t, errs, "headrace: line 2: not a request")
	assert.Len(t, p.lines("headrace.results.jsonl"), 1)
	assert.NoFileExists(t, p.path("headrace.errors.jsonl"))
	assert.Equal(t, 1, p.provider.Counts().Arrivals)
}

// It is the first one, whatever the others are.
func TestStrictNamesTheFirstBadLine(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	const lines = 200
	for i := range 5 {
		cmd := p.command("run", "-", "--strict", "--out", "-", "--concurrency", "100", "--base-url", p.provider.URL())
		cmd.Stdin = strings.NewReader(request(0) + strings.Repeat("nonsense\n", lines))
		status, _, errs := p.end(cmd, cmd.Run)
		require.Equal(t, 1, status, errs)
		assert.Contains(t, errs, "headrace: line 2: not a request", i)
	}
}

// A bad line that an earlier run has recorded stops the run too, and is named.
func TestStrictStopsAtARecordedBadLine(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	for _, args := range [][]string{nil, {"--strict"}} {
		cmd := p.command(append([]string{"run", "-", "--out", "o.jsonl", "--base-url", p.provider.URL()}, args...)...)
		cmd.Stdin = strings.NewReader(request(0) + "nonsense\n" + request(1))
		status, _, errs := p.end(cmd, cmd.Run)
		require.Equal(t, 1, status, errs)
		assert.Equal(t, len(args) > 0, strings.Contains(errs, "\nheadrace: line 2: not a request"), errs)
	}
	assert.Len(t, p.lines("o.jsonl"), 2)
}

// An input without an end ends with the failures that are too many.
func TestMaxFailuresOfAnEndlessInput(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{Fault: func(providertest.Request) *providertest.Fault { return &providertest.Fault{Status: 400} }})
	cmd := p.command("run", "-", "--out", "-", "--max-failures", "5", "--concurrency", "2", "--base-url", p.provider.URL())
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	status, _, errs := p.end(cmd, func() error {
		require.NoError(t, cmd.Start())
		for i := 0; ; i++ {
			if _, err := io.WriteString(in, request(i)); err != nil {
				return cmd.Wait() // the reader has gone
			}
		}
	})
	require.Equal(t, 1, status, errs)
	assert.Contains(t, errs, "stopped after 6 failures because of --max-failures")
}

// An answer that says nothing of its tokens costs what was estimated.
func TestAnAnswerWithoutUsage(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{Fault: func(providertest.Request) *providertest.Fault {
		return &providertest.Fault{Status: 200, Body: `{"choices":[]}`}
	}})
	p.requests(30)
	status, _, errs := p.run("--tpm", "100000", "--law", "fixed")
	require.Zero(t, status, errs)
	all := p.lines("r.results.jsonl")
	require.Len(t, all, 30)
	assert.JSONEq(t, `{"choices":[]}`, string(all[0].Response.Body))
}

func TestGzip(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	f, err := os.Create(p.path("r.jsonl.gz"))
	require.NoError(t, err)
	w := gzip.NewWriter(f)
	_, err = w.Write([]byte(request(0) + request(1)))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, f.Close())
	status, _, errs := p.do("run", "r.jsonl.gz", "--api-key-env", "KEY", "--base-url", p.provider.URL()+"/v1")
	require.Zero(t, status, errs)
	assert.Len(t, p.lines("r.results.jsonl"), 2)

	p.write("broken.jsonl.gz", p.read("r.jsonl.gz")[:40])
	status, _, errs = p.do("run", "broken.jsonl.gz", "--api-key-env", "KEY", "--base-url", p.provider.URL())
	assert.Equal(t, 2, status)
	assert.Contains(t, errs, "unexpected EOF")
}

// A request under the custom_id of another one does not pass for it.
func TestAChangedRequest(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(3)
	status, _, errs := p.run()
	require.Zero(t, status, errs)
	p.write("r.jsonl", request(0)+strings.Replace(request(1), "Tell", "Sing", 1)+request(2))
	status, _, errs = p.run()
	require.Equal(t, 1, status)
	assert.Contains(t, errs, `r.jsonl:2: custom_id "r1" already has the result of a different request`)
	assert.Contains(t, errs, "\n1 result of requests that have changed since (kept: ")
	assert.Equal(t, 3, p.provider.Counts().Arrivals)

	status, _, errs = p.run("--header", "X-Variant: b")
	require.Equal(t, 2, status)
	assert.Contains(t, errs, "were made with other settings")
	status, _, errs = p.do("run", "r.jsonl", "--base-url", p.provider.URL()+"/v1/")
	assert.Equal(t, 1, status, "a slash at the end makes no difference")
	assert.NotContains(t, errs, "were made with other settings")

	status, _, errs = p.run("--fresh")
	require.Zero(t, status, errs)
	assert.Equal(t, 6, p.provider.Counts().Arrivals)
	assert.Len(t, p.lines("r.results.jsonl"), 3)
}

// A request that fits no cap of the user fails: it would wait for ever.
func TestARequestAboveTheCap(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.write("r.jsonl", request(0)+strings.Replace(request(1), "Tell", strings.Repeat("Tell ", 2000), 1)+request(2))
	for range 2 {
		status, _, errs := p.run("--tpm", "1000")
		require.Equal(t, 1, status)
		assert.Contains(t, errs, "2 done")
		assert.NotContains(t, errs, " left")
		assert.NotContains(t, errs, "item.retry", "another attempt ends the same")
		failed := p.lines("r.errors.jsonl")
		require.Len(t, failed, 1)
		assert.Equal(t, "too_large", failed[0].Error.Code)
		assert.Equal(t, 2, failed[0].Error.Line)
		assert.Contains(t, failed[0].Error.Message, "raise the limit and use --retry-failed")
		assert.Equal(t, 2, p.provider.Counts().Arrivals)
	}
	status, _, errs := p.run("--tpm", "100000", "--retry-failed")
	require.Zero(t, status, errs)
	assert.Len(t, p.lines("r.results.jsonl"), 3)
	assert.NoFileExists(t, p.path("r.errors.jsonl"))
}

// The limits of a preset are hard with these flags, so that a request above them fails in the same way.
func TestARequestAboveTheLimitsOfAPreset(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{{"--law", "fixed"}, {"--law", "aimd"}, {"--share", "sqlite:limits.db"}} {
		p := newPlace(t, providertest.Config{})
		p.write("r.jsonl", request(0)+strings.Replace(request(1), `"body":{`, `"body":{"max_tokens":5000000,`, 1)+request(2))
		status, _, errs := p.run(append(flags, "--preset", "openai/tier1")...)
		require.Equal(t, 1, status, errs)
		assert.Contains(t, errs, "2 done")
		failed := p.lines("r.errors.jsonl")
		require.Len(t, failed, 1, flags)
		assert.Equal(t, "too_large", failed[0].Error.Code)
	}
}

func TestDryRun(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(100)
	status, out, errs := p.do("run", "r.jsonl", "--dry-run", "--rpm", "10", "--preset", "openai/tier1", "--report", "report.json")
	require.Zero(t, status, errs)
	assert.NoFileExists(t, p.path("report.json"))
	assert.Contains(t, out, "requests:  100, and 0 that cannot be sent")
	assert.Contains(t, out, " in the prompts (estimated), plus the output of 100 requests without max_tokens\n")
	assert.Contains(t, out, "time:      at least 10m0s, because of 10/min")
	assert.NoFileExists(t, p.path("r.results.jsonl"))
	assert.NoFileExists(t, p.path("r.results.jsonl.journal"))

	status, out, errs = p.do("run", "r.jsonl", "--dry-run")
	require.Zero(t, status, errs)
	assert.Contains(t, out, "to:        https://api.openai.com/v1")
	assert.Contains(t, out, "unknown: no rate limit is set")

	// A tier's row is that of the model that all requests name.
	p.write("r.jsonl", strings.ReplaceAll(p.read("r.jsonl"), `"model":"m"`, `"model":"gpt-4o-mini-2024-07-18"`))
	_, out, _ = p.do("run", "r.jsonl", "--dry-run", "--preset", "openai/tier1")
	assert.Contains(t, out, "preset:    openai/tier1/gpt-4o-mini, ")
	assert.Contains(t, out, "models:    gpt-4o-mini-2024-07-18")
}

// Whichever of two lines with one custom_id is sent, the other one is reported. Workers may begin them in either order.
func TestOfTwoRequestsWithOneNameOneIsReported(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	const pairs = 3000
	var all strings.Builder
	for i := range pairs {
		all.WriteString(request(i))
		all.WriteString(strings.Replace(request(i), "Tell", "Ask", 1))
	}
	cmd := p.command("run", "-", "--out", "o.jsonl", "--report", "report.json", "--base-url", p.provider.URL()+"/v1", "--concurrency", "64")
	cmd.Stdin = strings.NewReader(all.String())
	status, _, errs := p.end(cmd, cmd.Run)
	require.Equal(t, 1, status, errs)
	assert.Contains(t, p.read("report.json"), fmt.Sprintf(`"changed": %d`, pairs))
	assert.Equal(t, pairs, p.provider.Counts().Served)
}

// The number of calls that a run starts with is no change of its limits.
func TestARunLogsNoChangeOfItsOwnLimits(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(1)
	status, _, errs := p.run()
	require.Zero(t, status, errs)
	assert.NotContains(t, errs, event.LimiterChanged)
}
