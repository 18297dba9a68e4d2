package report

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// A Key names a figure: of which operation and contender, in which unit. The
// operation has its parameters, as in "Blocked/waiters=16".
type Key struct{ Op, Contender, Unit string }

// A Pass is what one run of everything measured.
type Pass map[Key]float64

// Parse reads the output of go test -bench and go test -v: the lines of
// benchmarks, and as figures of an operation X the attributes of TestX.
func Parse(output []byte) (Pass, error) {
	p := Pass{}
	if err := p.benchmarks(bytes.NewReader(output)); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(bytes.NewReader(output))
	for lines.Scan() {
		rest, found := strings.CutPrefix(lines.Text(), "=== ATTR")
		if !found {
			continue
		}
		f := strings.Fields(rest)
		if len(f) != 3 {
			return nil, fmt.Errorf("report: %q is not a figure", lines.Text())
		}
		v, err := strconv.ParseFloat(f[2], 64)
		if err != nil {
			return nil, fmt.Errorf("report: %q is not a figure: %w", lines.Text(), err)
		}
		if op, contender, ok := split(strings.TrimPrefix(f[0], "Test")); ok {
			p[Key{op, contender, f[1]}] = v
		}
	}
	return p, lines.Err()
}

func (p Pass) benchmarks(r io.Reader) error {
	reader := benchfmt.NewReader(r, "")
	for reader.Scan() {
		switch record := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			return record
		case *benchfmt.Result:
			// The last part is the number of processors, where there is one.
			name := record.Name.String()
			if _, parts := record.Name.Parts(); len(parts) > 0 && parts[len(parts)-1][0] == '-' {
				name = strings.TrimSuffix(name, string(parts[len(parts)-1]))
			}
			op, contender, ok := split(name)
			if !ok {
				continue
			}
			for _, v := range record.Values {
				if v.OrigUnit != "" {
					v.Value, v.Unit = v.OrigValue, v.OrigUnit
				}
				p[Key{op, contender, v.Unit}] = v.Value
			}
		}
	}
	return reader.Err()
}

// split takes the contender off the end of a name.
func split(name string) (op, contender string, ok bool) {
	i := strings.LastIndexByte(name, '/')
	if i < 0 {
		return "", "", false
	}
	return name[:i], name[i+1:], true
}

// compare sorts by operation, parameters as numbers, then by contender.
func (k Key) compare(o Key) int {
	base, _, _ := strings.Cut(k.Op, "/")
	other, _, _ := strings.Cut(o.Op, "/")
	return cmp.Or(
		cmp.Compare(base, other),
		cmp.Compare(number(k.Op), number(o.Op)),
		cmp.Compare(k.Contender, o.Contender),
		cmp.Compare(k.Unit, o.Unit),
	)
}
