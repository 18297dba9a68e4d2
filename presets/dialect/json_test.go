package dialect

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/internal/jsonwalk"
	"github.com/headrace/headrace/throttle"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func TestScannerAmount(t *testing.T) {
	for text, want := range map[string]int64{
		"7": 7, "7.9": 7, "1e3": 1000, "0": 0, "-5": 0, "1e400": throttle.MaxAmount, "1099511627777": throttle.MaxAmount, "-1e400": 0,
		"null": 0, "\"7\"": 0, "[7]": 0, "{}": 0, "": 0, "7up": 0, "-": 0,
	} {
		s := scanner{jsonwalk.At([]byte(text + "]"))}
		assert.Equal(t, want, s.amount(), text)
	}
}
