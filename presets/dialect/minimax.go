package dialect

import (
	"net/http"
	"strconv"

	"github.com/headrace/headrace/adaptive"
)

// miniMax reports every error with status 200, as a number in base_resp:
// https://platform.minimax.io/docs/api-reference/errorcode, read in 2026.
func miniMax() speaker {
	return speaker{
		name:  MiniMax,
		hosts: []string{"minimax.io", "minimaxi.com", "minimax.chat", "minimaxi.chat"},
		shape: func(d *document) bool { return d.shape.all(hasBaseResp) },
		rules: []rule{
			{code: "base_resp_1039", verdict: adaptive.Hit, kind: adaptive.KindTokens},
			{code: "base_resp_1041", verdict: adaptive.Hit, kind: adaptive.KindConcurrency},
			{code: "base_resp_2045", verdict: adaptive.Hit, slow: true},
		},
	}
}

// statusOfBaseResp is the status that an answer of MiniMax would have with any
// other provider, 0 if its number says nothing of limits.
func statusOfBaseResp(code int64) int {
	switch code {
	case 1002, 1039, 1041, 2045: // requests or tokens per minute, tokens, connections, growth
		return http.StatusTooManyRequests
	case 1008, 2056: // no balance; the plan's window of five hours is used up
		return http.StatusPaymentRequired
	case 1000, 1001, 1024, 1033: // unknown, timeout, internal, system
		return http.StatusInternalServerError
	}
	return 0
}

// readBaseResp takes base_resp, in which 0 is success.
func (d *document) readBaseResp(s *scanner) {
	if s.Peek() != '{' {
		s.Skip()
		return
	}
	d.shape |= hasBaseResp
	for s.Open(); s.Next('}'); {
		switch key := s.Key(); {
		case string(key) == "status_code":
			if n := s.amount(); n != 0 {
				d.failed, d.status = true, statusOfBaseResp(n)
				d.code([]byte("base_resp_" + strconv.FormatInt(n, 10)))
			}
		case string(key) == "status_msg" && s.Peek() == '"':
			d.say(s.Text())
		default:
			s.Skip()
		}
	}
}
