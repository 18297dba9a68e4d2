package picture

import "github.com/headrace/headrace/cmd/headrace/internal/provider"

type Bar struct {
	From, To          float64
	Answers, Refusals float64
	Refused           int
}

func Bars(l *provider.Ledger) (all []Bar) {
	for _, b := range bars(l) {
		all = append(all, Bar{b.from, b.to, b.answers, b.refusals, b.refused})
	}
	return all
}

type Span struct {
	Column      int
	Class, Text string
}

func Spans(line string) (all []Span) {
	for _, s := range spans(line) {
		all = append(all, Span{s.column, s.class, s.text})
	}
	return all
}

var Number = number

const Letter = letter
