package console

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/headrace/headrace/event"
)

// jsonLine is a snapshot. Names and units are those of flow.Report; names are only
// ever added.
type jsonLine struct {
	Time     time.Time     `json:"time"`
	Name     string        `json:"name"`
	Elapsed  float64       `json:"elapsed_s"`
	Final    bool          `json:"final"`
	Items    jsonItems     `json:"items"`
	Nodes    []jsonNode    `json:"nodes,omitempty"`
	Limiters []jsonLimiter `json:"limiters,omitempty"`
	Notes    []string      `json:"notes,omitempty"`
}

type jsonItems struct {
	Total     int64   `json:"total"` // 0: not known
	Pending   int64   `json:"pending"`
	Done      int64   `json:"done"`
	Resumed   int64   `json:"resumed"`
	Failed    int64   `json:"failed"`
	Abandoned int64   `json:"abandoned"`
	Retries   int64   `json:"retries"`
	Rate      float64 `json:"rate"`  // a second
	ETA       float64 `json:"eta_s"` // 0: not known, or nothing left
}

type jsonNode struct {
	Name     string `json:"name"`
	Running  int64  `json:"running"`
	Runs     int64  `json:"runs"`
	Failures int64  `json:"failures"`
	jsonItems
}

type jsonLimiter struct {
	Name     string             `json:"name"`
	Live     bool               `json:"live"`
	Limit    int                `json:"limit"`
	Pace     map[string]float64 `json:"pace,omitempty"`
	InFlight int                `json:"in_flight"`
	Waiting  int                `json:"waiting"`
	Calls    int64              `json:"calls"`
	Hits     int64              `json:"hits"`
	Cuts     int64              `json:"cuts"`
	Closed   bool               `json:"closed"`
	Why      string             `json:"why,omitempty"`
}

func jsonText(p *event.Progress, notes []string) (string, error) {
	line := jsonLine{
		Time: p.Time, Name: p.Name, Elapsed: p.Elapsed.Seconds(), Final: p.Final,
		Items: itemsToJSON(&p.Items), Notes: notes,
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		line.Nodes = append(line.Nodes, jsonNode{n.Name, n.Running, n.Runs, n.Failures, itemsToJSON(&n.Items)})
	}
	for i := range p.Limiters {
		l := &p.Limiters[i]
		line.Limiters = append(line.Limiters, jsonLimiter{
			l.Name, l.Live, l.Limit, l.Pace, l.InFlight, l.Waiting, l.Calls, l.Hits, l.Cuts, l.Closed, l.Why,
		})
	}
	text, err := json.Marshal(line)
	return harmless(string(text)), err
}

func itemsToJSON(i *event.Items) jsonItems {
	return jsonItems{i.Total, i.Pending, i.Done, i.Resumed, i.Failed, i.Abandoned, i.Retries, i.Rate, i.ETA.Seconds()}
}

// harmless escapes the control characters that JSON lets through: some
// terminals obey them.
func harmless(s string) string {
	if !strings.ContainsFunc(s, upperControl) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if upperControl(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func upperControl(r rune) bool { return r >= 0x7f && r <= 0x9f }
