package dialect

import (
	"strconv"

	"github.com/headrace/headrace/internal/jsonwalk"
	"github.com/headrace/headrace/throttle"
)

// scanner is a cursor that knows amounts.
type scanner struct{ jsonwalk.Cursor }

// amount reads any value as an amount: 0 if it is not a number or negative, at most throttle.MaxAmount.
func (s *scanner) amount() int64 {
	if c := s.Peek(); c != '-' && (c < '0' || c > '9') {
		s.Skip()
		return 0
	}
	number := s.Scalar()
	if n, ok := digits(number); ok {
		return n
	}
	f, err := strconv.ParseFloat(string(number), 64)
	switch {
	case !(f >= 0): // NaN too
		return 0
	case f > throttle.MaxAmount:
		return throttle.MaxAmount
	case err != nil:
		return 0
	}
	return int64(f)
}
