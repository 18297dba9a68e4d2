package command

import "time"

// Again is the command line that goes on.
func Again(args []string, fresh bool) []string { return again(args, fresh) }

// Meant asks for the name that word may have been meant for.
func Meant(word string, names []string) string { return meant(word, names) }

// Patient is the patience of a program whose calls have so long to end.
func Patient(grace time.Duration) time.Duration { return (&Program{calls: grace}).Patience() }
