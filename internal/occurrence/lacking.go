package occurrence

import (
	"cmp"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
)

// Record identifies a record of a part.
type Record struct {
	Content    Short
	Occurrence int64
}

// lacking is between the mark of an output and the records that the output lacks.
const lacking = "\n-"

// WithLacking returns a mark for an output that lacks these records, which no item was found for when it was written.
func WithLacking(mark string, records []Record) string {
	if len(records) == 0 {
		return mark
	}
	sorted := slices.SortedFunc(slices.Values(records), func(a, b Record) int {
		return cmp.Or(slices.Compare(a.Content[:], b.Content[:]), cmp.Compare(a.Occurrence, b.Occurrence))
	})
	texts := make([]string, len(sorted))
	for i, r := range sorted {
		texts[i] = r.Content.String() + "#" + strconv.FormatInt(r.Occurrence, 10)
	}
	return mark + lacking + strings.Join(texts, ",")
}

// CutLacking returns the arguments of WithLacking. A mark of another kind has no records.
func CutLacking(mark string) (of string, records []Record) {
	at := strings.LastIndex(mark, lacking)
	if at < 0 {
		return mark, nil
	}
	for text := range strings.SplitSeq(mark[at+len(lacking):], ",") {
		content, occurrence, _ := strings.Cut(text, "#")
		var r Record
		n, err := strconv.ParseInt(occurrence, 10, 64)
		if sum, sumErr := hex.DecodeString(content); err != nil || sumErr != nil || copy(r.Content[:], sum) != len(sum) || len(sum) != len(r.Content) {
			return mark, nil
		}
		r.Occurrence = n
		records = append(records, r)
	}
	return mark[:at], records
}

// Met reports whether the scope has met the item of a record.
func (p *Part) Met(r Record) bool { return p.times(r.Content) > r.Occurrence }
