package download

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/headrace/headrace/httpclient"
)

// ask is what a request asks for: everything, or what comes from an offset on of a version.
type ask struct {
	from      int64 // 0: everything
	validator validator
	total     int64 // of that version; -1: not known
	encoded   bool  // a Content-Encoding is part of the file
}

// verdict is what to do with an answer.
type verdict uint8

const (
	startOver verdict = iota // forget what is there and ask for everything
	takeAll                  // the body is everything
	takeRest                 // the body begins where it was asked to
)

// answer is what a response is good for. It is read from the header alone.
type answer struct {
	verdict   verdict
	length    int64 // of the body; -1: not known
	total     int64 // of the file; -1: not known
	validator validator
}

// judge has an error for an answer that is not the file.
func judge(resp *http.Response, asked ask) (answer, error) {
	switch resp.StatusCode {
	case http.StatusOK:
		if !asked.encoded && isEncoded(resp.Header) {
			return answer{}, fmt.Errorf("the body has the Content-Encoding %.64q, though identity was asked for; Config.Encoded stores it as it comes",
				resp.Header.Get("Content-Encoding"))
		}
		return answer{takeAll, resp.ContentLength, resp.ContentLength, validatorOf(resp.Header)}, nil
	case http.StatusPartialContent:
		if asked.from == 0 {
			return answer{}, errors.New("status 206, though no range was asked for")
		}
		return judgeRange(resp, asked), nil
	case http.StatusRequestedRangeNotSatisfiable:
		if asked.from > 0 { // the last byte that is there was asked for: it is another version
			return answer{}, nil
		}
	}
	if err := httpclient.CheckStatus(resp); err != nil {
		return answer{}, err
	}
	return answer{}, fmt.Errorf("status %d; want 200", resp.StatusCode)
}

// judgeRange starts over at everything that is not the rest that was asked for.
func judgeRange(resp *http.Response, asked ask) answer {
	r, ok := parseContentRange(resp.Header.Values("Content-Range"))
	if !ok || r.first != asked.from || asked.total >= 0 && r.total != asked.total {
		return answer{}
	}
	length := r.last - r.first + 1
	if resp.ContentLength >= 0 && resp.ContentLength != length {
		return answer{}
	}
	if !asked.encoded && isEncoded(resp.Header) || isMultipart(resp.Header) || !asked.validator.repeatedBy(resp.Header) {
		return answer{}
	}
	return answer{takeRest, length, r.total, asked.validator}
}

func isEncoded(h http.Header) bool {
	for _, v := range h.Values("Content-Encoding") {
		if v = strings.TrimSpace(v); v != "" && !strings.EqualFold(v, "identity") {
			return true
		}
	}
	return false
}

func isMultipart(h http.Header) bool {
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type")) // a kind that is there counts, whatever follows
	return kind == "multipart/byteranges"
}

// contentRange is a Content-Range with a known total: "bytes first-last/total", RFC 9110, section 14.4.
type contentRange struct{ first, last, total int64 }

func parseContentRange(values []string) (r contentRange, ok bool) {
	if len(values) != 1 {
		return r, false
	}
	unit, rest, _ := strings.Cut(values[0], " ")
	span, total, _ := strings.Cut(rest, "/")
	first, last, _ := strings.Cut(span, "-")
	if !strings.EqualFold(unit, "bytes") {
		return r, false
	}
	for _, number := range []struct {
		text string
		to   *int64
	}{{first, &r.first}, {last, &r.last}, {total, &r.total}} {
		n, err := strconv.ParseUint(number.text, 10, 63) // no sign, and no underscores in base 10
		if err != nil {
			return r, false
		}
		*number.to = int64(n)
	}
	return r, r.first <= r.last && r.last < r.total
}
