package redact

import (
	"errors"
	"strings"
)

const (
	// Mark stands where a secret was.
	Mark = "REDACTED"

	// MaxText bounds what an error says, in bytes: it may be the other side's words.
	MaxText = 1 << 10
)

// Text returns text without the secrets, which are in the order of [Secrets].
func Text(text string, secrets []string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, Mark)
	}
	return text
}

// Error returns err, or if its text holds a secret or is longer than 1 KiB, an error that has only the text without, and answers
// errors.Is as err does. errors.As finds copies of what others decide by, without the secrets.
func Error(err error, secrets []string) error {
	if err == nil {
		return nil
	}
	whole := err.Error()
	text := Text(whole, secrets)
	if len(text) > MaxText {
		text = strings.ToValidUTF8(text[:MaxText], "") + "..."
	}
	if text == whole {
		return err
	}
	return keep(text, err, secrets)
}

// Saying returns an error with this text that answers errors.Is as err does and shows nothing of it.
func Saying(text string, err error) error {
	return &scrubbedError{text: text, is: func(target error) bool { return errors.Is(err, target) }}
}
