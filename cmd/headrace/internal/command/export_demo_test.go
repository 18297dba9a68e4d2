package command

import (
	"io"

	"github.com/headrace/headrace/cmd/headrace/internal/provider"
	"github.com/headrace/headrace/event"
)

// DemoMove is how often the limit of the demo moves.
const DemoMove = demoMove

// Reveal tells what a provider has allowed.
func Reveal(to io.Writer, l *provider.Ledger) { reveal(to, l) }

// LastWords are what a process said before it ended.
func LastWords(said string) string { return lastWords(said) }

// Seen is which of them the picture shows.
func Seen(all ...event.Progress) *event.Progress {
	var s scene
	for _, p := range all {
		s.watch(p)
	}
	return s.seen
}
