package dialect

import (
	"bytes"

	"github.com/headrace/headrace/adaptive"
)

// quotaFailure is google.rpc.QuotaFailure: which quotas were violated.
type quotaFailure struct {
	perDay, perMinute bool
	none              bool // a quota of 0
	kind              adaptive.Kind
}

// read takes the violations.
func (q *quotaFailure) read(s *scanner) {
	if s.Peek() != '[' {
		s.Skip()
		return
	}
	for s.Open(); s.Next(']'); {
		if s.Peek() != '{' {
			s.Skip()
			continue
		}
		for s.Open(); s.Next('}'); {
			key := s.Key()
			switch {
			case s.Peek() != '"':
				none := string(key) == "quotaValue" && s.Peek() == '0'
				q.none = s.amount() == 0 && none || q.none
			case string(key) == "quotaId":
				id := s.Text()
				q.perDay = q.perDay || bytes.Contains(id, []byte("PerDay"))
				q.perMinute = q.perMinute || bytes.Contains(id, []byte("PerMinute"))
			case string(key) == "quotaMetric":
				q.metric(s.Text())
			case string(key) == "quotaValue":
				q.none = string(s.Text()) == "0" || q.none
			default:
				s.Skip()
			}
		}
	}
}

// metric notes what the first violated quota counts.
func (q *quotaFailure) metric(name []byte) {
	switch {
	case q.kind != adaptive.UnknownKind:
	case bytes.Contains(name, []byte("token")):
		q.kind = adaptive.KindTokens
	case bytes.Contains(name, []byte("request")):
		q.kind = adaptive.KindRequests
	}
}
