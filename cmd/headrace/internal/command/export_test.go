package command

import (
	"crypto/tls"
	"log/slog"
	"time"
)

// Again is the command line that goes on.
func Again(args []string, fresh bool) []string { return again(args, fresh) }

// Meant asks for the name that word may have been meant for.
func Meant(word string, names []string) string { return meant(word, names) }

// Patient returns the Patience of a program that gives its calls that long to end.
func Patient(grace time.Duration) time.Duration { return (&Program{calls: grace}).Patience() }

// Replace replaces the content of a file.
func Replace(path string, text []byte) error { return replace(path, text) }

// TLS returns the configuration of the flags with these files.
func TLS(cert, key, clientCA string, log *slog.Logger) (*tls.Config, error) {
	return (&tlsFlags{TLSCert: cert, TLSKey: key, TLSClientCA: clientCA}).tls(log)
}
