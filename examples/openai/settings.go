package main

import (
	"errors"
	"io"

	"github.com/openai/openai-go/v3"

	"github.com/headrace/headrace/examples/internal/questions"
	"github.com/headrace/headrace/providertest"
)

const about = `Usage: openai [flags]

Asks questions by the official OpenAI SDK through headrace.Transport. Nobody
tells the limiter what the provider allows: it starts with what OpenAI grants to
tier 1 and finds the rest. The figures go to standard output, the progress to
standard error.

  openai                  half a minute, with a few refusals that no caller sees
  openai -rpm 100         a little over two minutes, to see how many are refused after the first
  openai -stream -faults  what else can go wrong

Flags:`

// settings are the flags.
type settings struct {
	questions.Settings

	embeddings, real bool
	model            string
	tpm              int
}

func parse(args []string, usage io.Writer) (settings, error) {
	s := settings{Settings: questions.Settings{RPM: 420}}
	flags := s.Flags("openai", about, usage)
	flags.BoolVar(&s.embeddings, "embeddings", false, "ask for embeddings in place of chats")
	flags.StringVar(&s.model, "model", "", "the `model`; default gpt-5.6-luna, or text-embedding-3-small")
	flags.IntVar(&s.tpm, "tpm", 60_000, "the same in `tokens` a minute")
	flags.BoolVar(&s.real, "real", false, "call the real service with OPENAI_API_KEY, which costs money;\n-rpm, -tpm and -faults mean nothing then")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	switch {
	case s.Calls < 1 || s.Parallel < 1 || s.RPM < 1 || s.tpm < 1:
		return s, errors.New("-calls, -parallel, -rpm and -tpm must be at least 1")
	case s.Stream && s.embeddings:
		return s, errors.New("-stream and -embeddings exclude each other: embeddings are not streamed")
	case s.model == "" && s.embeddings:
		s.model = openai.EmbeddingModelTextEmbedding3Small
	case s.model == "":
		s.model = openai.ChatModelGPT5_6Luna
	}
	return s, nil
}

// hidden is a provider that tells none of its limits.
func hidden(s settings) providertest.Config {
	return s.Provider(providertest.Limits{Tokens: questions.Tokens(s.tpm)})
}
