package report

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// table writes the section's table; nothing if it has no figures.
func (s Section) table(w *bytes.Buffer, passes []Pass) {
	ops, contenders := s.find(passes)
	if len(ops) == 0 {
		return
	}
	fmt.Fprintf(w, "\n### %s\n\n", s.Title)
	if s.Text != "" {
		fmt.Fprintf(w, "%s\n\n", s.Text)
	}
	header := []string{""}
	for _, op := range ops {
		column := s.Unit
		if s.Reference != "" {
			column += " / " + s.Reference
		}
		if _, parameter, found := strings.Cut(op, "/"); found {
			column = parameterName(parameter)
		}
		header = append(header, column)
	}
	header = append(header, s.Extra...)
	row(w, header)
	row(w, append([]string{"---"}, slices.Repeat([]string{"---:"}, len(header)-1)...))

	for _, c := range contenders {
		cells := []string{c}
		for _, op := range ops {
			cells = append(cells, s.figure(passes, op, c).String())
		}
		for _, unit := range s.Extra {
			cells = append(cells, Summarize(Values(passes, Key{s.Op, c, unit})).String())
		}
		row(w, cells)
	}
}

// figure is what the table shows of a contender.
func (s Section) figure(passes []Pass, op, contender string) Summary {
	k := Key{op, contender, s.Unit}
	if s.Reference == "" {
		return Summarize(Values(passes, k))
	}
	return Summarize(Ratios(passes, k, Key{op, s.Reference, s.Unit}))
}

// find returns the operations of the section by their parameter, and the
// contenders by their figure in the first of them.
func (s Section) find(passes []Pass) (ops, contenders []string) {
	foundOps, found := map[string]bool{}, map[string]bool{}
	for _, p := range passes {
		for k := range p {
			if base, _, _ := strings.Cut(k.Op, "/"); base == s.Op && k.Unit == s.Unit {
				foundOps[k.Op], found[k.Contender] = true, true
			}
		}
	}
	if len(foundOps) == 0 {
		return nil, nil
	}
	ops = slices.SortedFunc(maps.Keys(foundOps), func(a, b string) int {
		return cmp.Or(cmp.Compare(number(a), number(b)), cmp.Compare(a, b))
	})
	contenders = slices.SortedFunc(maps.Keys(found), func(a, b string) int {
		return cmp.Or(
			cmp.Compare(s.figure(passes, ops[0], a).Median, s.figure(passes, ops[0], b).Median),
			cmp.Compare(a, b),
		)
	})
	return ops, contenders
}

// number is the one after the last "=" of an operation, 0 if there is none.
func number(op string) int {
	n, _ := strconv.Atoi(op[strings.LastIndexByte(op, '=')+1:])
	return n
}

// parameterName writes "waiters=10000" as "10,000 waiters".
func parameterName(parameter string) string {
	name, value, found := strings.Cut(parameter, "=")
	if value == "1" {
		name = strings.TrimSuffix(name, "s")
	}
	if v, err := strconv.ParseFloat(value, 64); found && err == nil {
		return grouped(v) + " " + name
	}
	return parameter
}

func row(w *bytes.Buffer, cells []string) {
	fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
}
