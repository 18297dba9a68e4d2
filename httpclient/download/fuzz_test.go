package download

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A state is read only as it was written; a changed bit makes it none.
func FuzzState(f *testing.F) {
	f.Fuzz(func(t *testing.T, text []byte, resource, tag string, kept, total int64, at uint16, bit uint8) {
		if s := decode(text); s != (state{}) {
			require.GreaterOrEqual(t, s.Kept, int64(0))
			require.GreaterOrEqual(t, s.Total, int64(-1))
			require.True(t, s.Total < 0 || s.Kept <= s.Total)
			require.Equal(t, s, decode(s.encode()))
		}
		if kept < 0 || total < -1 || total >= 0 && kept > total {
			return
		}
		s := state{Format: format, Resource: strings.ToValidUTF8(resource, ""), Validator: validator(strings.ToValidUTF8(tag, "")), Kept: kept, Total: total}
		line := s.encode()
		require.Equal(t, s, decode(line))
		line[int(at)%len(line)] ^= 1 << (bit % 8)
		require.Equal(t, state{}, decode(line), "%q", line)
		require.Equal(t, state{}, decode(line[:int(at)%len(line)]))
	})
}

// The rest of a file is taken only if it is the rest that was asked for, and its
// length is never negative.
func FuzzJudge(f *testing.F) {
	f.Fuzz(func(t *testing.T, status int, contentRange, encoding, tag string, from, total, length int64) {
		resp := &http.Response{StatusCode: status, ContentLength: max(length, -1), Body: http.NoBody, Header: http.Header{}}
		resp.Header.Set("Content-Range", contentRange)
		resp.Header.Set("Content-Encoding", encoding)
		resp.Header.Set("Etag", tag)
		asked := ask{from: max(0, from), total: max(total, -1), validator: validatorOf(resp.Header)}
		a, err := judge(resp, asked)
		if err != nil {
			require.Equal(t, answer{}, a)
			return
		}
		require.GreaterOrEqual(t, a.length, int64(-1))
		require.GreaterOrEqual(t, a.total, int64(-1))
		if a.verdict == takeRest {
			require.Equal(t, http.StatusPartialContent, status)
			require.Positive(t, asked.from)
			require.Positive(t, a.length)
			require.LessOrEqual(t, a.length, a.total-asked.from)
			require.True(t, asked.total < 0 || asked.total == a.total)
		}
	})
}

// A checksum is a problem that says what is wanted, or a sum of the right length.
func FuzzChecksum(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		sum, problem := parseChecksum(text, nil)
		if problem != "" {
			require.Equal(t, checksum{}.want, sum.want)
			require.Contains(t, problem, "want")
			return
		}
		require.Len(t, sum.want, sum.new().Size())
		require.True(t, strings.EqualFold(text, sum.text(sum.want)))
		require.NoError(t, sum.verify(sum.want))
	})
}
