package throttle_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/throttle"
)

func ExampleParseLimits() {
	l, err := throttle.ParseLimits("500 rpm, 200k tokens/min, fixed 10000/day@America/Los_Angeles, 8 concurrent")
	fmt.Println(l.Concurrency, len(l.Windows), err)

	// All problems come at once, each with its place.
	_, err = throttle.ParseLimits("5/month, 0/s")
	fmt.Println(err)
	var parse *throttle.ParseError
	fmt.Println(errors.As(err, &parse), parse.Text, parse.Offset)
	// Output:
	// 8 3 <nil>
	// throttle: limits: "month" at offset 2: a month has no fixed length: write 30days, or a fixed window of 30days with the day on which one begins
	// throttle: Windows[1].Max: 0 is not between 1 and 1099511627776
	// true month 2
}

func ExampleLimits_String() {
	l := throttle.Limits{Concurrency: 8, Windows: []throttle.Window{
		throttle.Sliding(100, 15*time.Minute),
		throttle.Bucket(2.5, 10).Of(throttle.Tokens),
		throttle.Fixed(10_000, 24*time.Hour, time.Time{}),
	}}
	fmt.Println(l)
	fmt.Println(throttle.Limits{})
	// Output:
	// 100/15min, bucket 2.5 tokens/s burst 10, fixed 10000/day@UTC, 8 concurrent
	// unlimited
}

// Windows and Limits are text in JSON, in YAML and in flags (flag.TextVar).
func ExampleWindow_MarshalText() {
	b, err := json.Marshal(map[string]throttle.Window{"window": throttle.Sliding(300, time.Minute)})
	fmt.Println(string(b), err)

	var config struct{ Limits throttle.Limits }
	err = json.Unmarshal([]byte(`{"limits": "5/s, 8 concurrent"}`), &config)
	fmt.Println(config.Limits, err)
	// Output:
	// {"window":"300/min"} <nil>
	// 5/s, 8 concurrent <nil>
}

func ExampleParseKeyedLimits() {
	keyed, err := throttle.ParseKeyedLimits("ols: 4/s, 100/min; bioportal: 2/s")
	fmt.Println(keyed["ols"], err)
	keyed["localhost:8080"] = throttle.Limits{}
	fmt.Println(throttle.FormatKeyedLimits(keyed))
	// Output:
	// 4/s, 100/min <nil>
	// bioportal: 2/s; "localhost:8080": unlimited; ols: 4/s, 100/min
}
