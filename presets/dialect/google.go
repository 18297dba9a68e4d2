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
	if s.peek() != '[' {
		s.skip()
		return
	}
	for s.open('['); s.next(']'); {
		if s.peek() != '{' {
			s.skip()
			continue
		}
		for s.open('{'); s.next('}'); {
			key := s.key()
			switch {
			case s.peek() != '"':
				none := string(key) == "quotaValue" && s.peek() == '0'
				q.none = s.amount() == 0 && none || q.none
			case string(key) == "quotaId":
				id := s.text()
				q.perDay = q.perDay || bytes.Contains(id, []byte("PerDay"))
				q.perMinute = q.perMinute || bytes.Contains(id, []byte("PerMinute"))
			case string(key) == "quotaMetric":
				q.metric(s.text())
			case string(key) == "quotaValue":
				q.none = string(s.text()) == "0" || q.none
			default:
				s.skip()
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
