package main

import (
	"errors"
	"io"

	"github.com/anthropics/anthropic-sdk-go"

	"github.com/headrace/headrace/examples/internal/questions"
	"github.com/headrace/headrace/providertest"
)

const about = `Usage: anthropic [flags]

Asks questions by the official Anthropic SDK through headrace.Transport. Nobody
tells the limiter what the provider allows: it starts with what Anthropic grants
to the Start tier and finds the rest. The figures go to standard output, the progress to
standard error.

  anthropic                  about 20 s, with a few refusals that no caller sees
  anthropic -rpm 120         nearly two minutes, to see how many are refused after the first
  anthropic -stream -faults  what else can go wrong

Flags:`

// settings are the flags.
type settings struct {
	questions.Settings

	real       bool
	model      string
	itpm, otpm int
}

func parse(args []string, usage io.Writer) (settings, error) {
	s := settings{Settings: questions.Settings{RPM: 600}}
	flags := s.Flags("anthropic", about, usage)
	flags.StringVar(&s.model, "model", anthropic.ModelClaudeHaiku4_5, "the `model` to ask")
	flags.IntVar(&s.itpm, "itpm", 60_000, "the same in `tokens` of questions a minute")
	flags.IntVar(&s.otpm, "otpm", 60_000, "the same in `tokens` of answers a minute")
	flags.BoolVar(&s.real, "real", false, "call the real service with ANTHROPIC_API_KEY, which costs money;\n-rpm, -itpm, -otpm and -faults mean nothing then")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if s.Calls < 1 || s.Parallel < 1 || s.RPM < 1 || s.itpm < 1 || s.otpm < 1 {
		return s, errors.New("-calls, -parallel, -rpm, -itpm and -otpm must be at least 1")
	}
	return s, nil
}

// hidden is a provider that tells none of its limits.
func hidden(s settings) providertest.Config {
	return s.Provider(providertest.Limits{InputTokens: questions.Tokens(s.itpm), OutputTokens: questions.Tokens(s.otpm)})
}
