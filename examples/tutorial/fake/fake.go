// Package fake is a model that needs no key and no network: a provider in this
// process, called over HTTP, with limits and faults of your choice.
package fake

import (
	"context"
	"strings"
	"time"

	"github.com/headrace/headrace/examples/internal/chat"
	"github.com/headrace/headrace/providertest"
)

// Model is a tutorial.Model.
type Model struct{ provider *providertest.Server }

// New starts a provider that does what c says. Unless c says otherwise an
// answer takes 50 ms, and is made of the first words of the text.
func New(c providertest.Config) (*Model, error) {
	if c.Latency == nil {
		c.Latency = providertest.Fixed(50 * time.Millisecond)
	}
	if c.Reply == nil {
		c.Reply = reply
	}
	provider, err := providertest.New(c)
	if err != nil {
		return nil, err
	}
	return &Model{provider}, nil
}

// Ask implements tutorial.Model.
func (m *Model) Ask(ctx context.Context, task, text string) (string, error) {
	return chat.New(m.provider).Complete(ctx, "", task+"\n\n"+text)
}

// Close stops the provider.
func (m *Model) Close() { m.provider.Close() }

const (
	long  = 16 // words, of a summary
	short = 12 // words, with which a judge is content
)

// reply does three tasks: to judge a line by its length, to shorten it, and, whatever
// else is asked, to give the first words of a text.
func reply(r providertest.Request) string {
	task, text, _ := strings.Cut(r.Messages[0].Content, "\n\n")
	words := strings.Fields(text)
	switch {
	case strings.HasPrefix(task, "Judge") && len(words) > short:
		return "no"
	case strings.HasPrefix(task, "Judge"):
		return "yes"
	case strings.HasPrefix(task, "Shorten"):
		return first(words, len(words)*4/5)
	}
	for i, w := range words {
		if strings.HasSuffix(w, ".") && w != "Mr." && i < long {
			return first(words, i+1)
		}
	}
	return first(words, long)
}

// first returns the first n words, and dots for the others.
func first(words []string, n int) string {
	line := strings.Join(words[:min(n, len(words))], " ")
	if n < len(words) && !strings.HasSuffix(line, ".") {
		line = strings.TrimRight(line, ",;:") + " ..."
	}
	return line
}
