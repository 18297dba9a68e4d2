package flow

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/node"
)

// reportJSON is the JSON of a Report.
type reportJSON struct {
	Action   node.Action              `json:"action"`
	Last     string                   `json:"last"`
	Elapsed  float64                  `json:"elapsed_s"`
	Steps    int64                    `json:"steps"`
	Nodes    map[string]NodeReport    `json:"nodes"`
	Limiters map[string]LimiterReport `json:"limiters"`
	Series   *Series                  `json:"series,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (r Report) MarshalJSON() ([]byte, error) {
	return json.Marshal(reportJSON{r.Action, r.Last, r.Elapsed.Seconds(), r.Steps, r.Nodes, r.Limiters, r.Series})
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *Report) UnmarshalJSON(data []byte) error {
	var j reportJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	elapsed, err := duration("flow.Report", "elapsed_s", j.Elapsed)
	if err != nil {
		return err
	}
	*r = Report{j.Action, j.Last, elapsed, j.Steps, j.Nodes, j.Limiters, j.Series}
	return nil
}

// seriesJSON is the JSON of a Series.
type seriesJSON struct {
	Interval float64                  `json:"interval_s"`
	At       []float64                `json:"at_s"`
	Nodes    map[string]NodeSeries    `json:"nodes"`
	Limiters map[string]LimiterSeries `json:"limiters"`
}

// MarshalJSON implements json.Marshaler.
func (s Series) MarshalJSON() ([]byte, error) {
	at := make([]float64, len(s.At))
	for i, d := range s.At {
		at[i] = d.Seconds()
	}
	return json.Marshal(seriesJSON{s.Interval.Seconds(), at, s.Nodes, s.Limiters})
}

// UnmarshalJSON implements json.Unmarshaler. It rejects columns that differ in length, and
// times above 292 years.
func (s *Series) UnmarshalJSON(data []byte) error {
	var j seriesJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	for name, n := range j.Nodes {
		if err := sameLength("node", name, len(j.At), len(n.Done), len(n.Failed)); err != nil {
			return err
		}
	}
	for name, l := range j.Limiters {
		if err := sameLength("limiter", name, len(j.At), len(l.Limit), len(l.InFlight), len(l.Waiting),
			len(l.Pace), len(l.Rate), len(l.Hits)); err != nil {
			return err
		}
	}
	const owner = "flow.Series"
	interval, err := duration(owner, "interval_s", j.Interval)
	if err != nil {
		return err
	}
	at := make([]time.Duration, len(j.At))
	for i, seconds := range j.At {
		if at[i], err = duration(owner, fmt.Sprintf("at_s[%d]", i), seconds); err != nil {
			return err
		}
	}
	*s = Series{Interval: interval, At: at, Nodes: j.Nodes, Limiters: j.Limiters}
	return nil
}

func sameLength(what, name string, want int, columns ...int) error {
	for _, n := range columns {
		if n != want {
			return fmt.Errorf("flow: series: %s %q: a column of %d points beside %d in at_s", what, name, n, want)
		}
	}
	return nil
}

// longest is the number of seconds that is too long for a time.Duration, 292 years.
const longest = float64(math.MaxInt64) / float64(time.Second)

// duration is exact up to 97 days: the whole seconds go apart, so that their size takes nothing from the rest.
func duration(owner, field string, seconds float64) (time.Duration, error) {
	if math.Abs(seconds) >= longest {
		return 0, &fault.FieldError{Owner: owner, Field: field, Problem: fmt.Sprintf("%v seconds are more than 292 years", seconds)}
	}
	whole, rest := math.Modf(seconds)
	return time.Duration(whole)*time.Second + time.Duration(math.Round(rest*float64(time.Second))), nil
}
