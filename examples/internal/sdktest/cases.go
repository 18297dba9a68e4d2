package sdktest

import (
	"maps"
	"slices"
	"strconv"
	"time"
)

// cases are the answers that all providers have.
func (s Suite) cases() []Case {
	hello := Always(200, s.Hello)
	heard := &Outcome{Text: "hello", Tokens: 4, Calls: 2}
	cases := []Case{
		{Name: "200", Answer: hello, Bare: Outcome{Text: "hello", Tokens: 4, Calls: 1}},
		{Name: "429 with Retry-After", Answer: Once(s.Refuse(429, "Retry-After", "2"), hello), Bare: s.api(429), Ours: heard},
		{Name: "429 for longer than anybody waits", Answer: s.Refuse(429, "Retry-After", "86400"), Bare: s.api(429)},
		{Name: "503 with Retry-After", Answer: Once(s.Refuse(503, "Retry-After", "1"), hello), Bare: s.api(503), Ours: heard},
		{Name: "529", Answer: Once(s.Refuse(529), hello), Bare: s.api(529), Ours: heard},
		{Name: "an error that is no JSON", Answer: Always(500, "<html>oops</html>"), Bare: Outcome{Err: "api", Status: 500, Calls: 1}},
		{Name: "cut before the header", Answer: Cut(""), Bare: Outcome{Err: "EOF", Calls: 1}},
		{Name: "cut in the body", Answer: Cut(s.Hello[:40]), Bare: Outcome{Err: "unexpected EOF", Calls: 1}},
		{Name: "malformed JSON", Answer: Always(200, s.Hello[:40]), Bare: Outcome{Err: "json", Calls: 1}},
		{Name: "a stream that is cut", Stream: true, Answer: Cut(s.Hel + s.Hel[:20]), Bare: Outcome{Text: "hel", Err: "unexpected EOF", Calls: 1}},
		{Name: "a slow header", Answer: Hang(), Limit: time.Minute, Bare: Outcome{Err: "deadline", Calls: 1}},
		{Name: "a slow stream", Stream: true, Answer: Hang(s.Hel), Limit: time.Minute, Bare: Outcome{Text: "hel", Err: "deadline", Calls: 1}},
		{Name: "cancelled", Answer: hello, Limit: -1, Bare: Outcome{Err: "cancelled"}},
		{Name: "a redirect", Answer: Once(Redirect("/elsewhere"), hello), Bare: Outcome{Text: "hello", Tokens: 4, Calls: 2}},
	}
	for _, status := range slices.Sorted(maps.Keys(s.Codes)) {
		switch status {
		case 429, 503, 529: // refusals, above
		default:
			cases = append(cases, Case{Name: strconv.Itoa(status), Answer: s.Refuse(status), Bare: s.api(status)})
		}
	}
	return cases
}

// api is the outcome of a refusal that comes up.
func (s Suite) api(status int) Outcome {
	return Outcome{Err: "api", Status: status, Code: s.Codes[status], Calls: 1}
}
