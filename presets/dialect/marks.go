package dialect

import "net/http"

// marks finds the dialect that a header field identifies. An answer has fewer fields than the tables have marks, and few of
// them look like one.
type marks struct {
	place map[string]int             // of the first in the tables with the mark
	begin [longestMark + 1][4]uint64 // by length: the first letters that marks of it have
}

const longestMark = 63

func (t *marks) add(s *speaker, place int) {
	for _, m := range s.marks {
		if _, taken := t.place[m]; !taken {
			t.place[m] = place
		}
		t.begin[len(m)][m[0]/64] |= 1 << (m[0] % 64)
	}
}

// like reports whether a field could be a mark.
func (t *marks) like(field string) bool {
	n := len(field)
	return n > 0 && n <= longestMark && t.begin[n][field[0]/64]&(1<<(field[0]%64)) != 0
}

// first returns the place of the first dialect in the tables that a field of h identifies.
func (t *marks) first(h http.Header) (place int, ok bool) {
	for field := range h {
		if !t.like(field) {
			continue
		}
		if i, known := t.place[field]; known && (!ok || i < place) {
			place, ok = i, true
		}
	}
	return place, ok
}
