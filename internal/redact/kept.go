package redact

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/headrace/headrace/fault"
)

// scrubbedError hides its origin in functions, where no printing finds it.
type scrubbedError struct {
	text    string
	is      func(target error) bool
	as      func(target any) bool // nil: nothing
	timeout bool
}

// keep is Saying for a text that is err's own without the secrets.
func keep(text string, err error, secrets []string) error {
	t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return &scrubbedError{
		text: text, timeout: ok && t.Timeout(),
		is: func(target error) bool { return errors.Is(err, target) },
		as: func(target any) bool {
			return slices.ContainsFunc(facts(err, secrets), func(kept error) bool { return errors.As(kept, target) })
		},
	}
}

func (e *scrubbedError) Error() string        { return e.text }
func (e *scrubbedError) Is(target error) bool { return e.is(target) }
func (e *scrubbedError) As(target any) bool   { return e.as != nil && e.as(target) }
func (e *scrubbedError) Timeout() bool        { return e.timeout }

// facts is what others decide by, such as whether a request may be sent again, each as a copy without the secrets: an error that
// makes such a copy itself, a panic, the certificate that was refused, the host that was not found, the operation that failed.
func facts(err error, secrets []string) []error {
	var found []error
	if own, ok := errors.AsType[interface {
		error
		Redact(secrets []string) error
	}](err); ok {
		found = append(found, own.Redact(secrets))
	}
	if panicked, ok := errors.AsType[*fault.PanicError](err); ok {
		found = append(found, &fault.PanicError{Value: Text(fmt.Sprint(panicked.Value), secrets), Stack: panicked.Stack})
	}
	if refused, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		found = append(found, &tls.CertificateVerificationError{
			UnverifiedCertificates: refused.UnverifiedCertificates, Err: inner(refused.Err, secrets),
		})
	}
	if unknown, ok := errors.AsType[*net.DNSError](err); ok {
		clean := *unknown
		clean.Err, clean.Name, clean.Server = Text(clean.Err, secrets), Text(clean.Name, secrets), Text(clean.Server, secrets)
		found = append(found, &clean)
	}
	if failed, ok := errors.AsType[*net.OpError](err); ok {
		clean := *failed
		clean.Err = inner(failed.Err, secrets)
		found = append(found, &clean)
	}
	return found
}

// inner is like Error, but keeps x509 errors about a certificate: the certificate comes from the server, before any secret was sent to it.
func inner(err error, secrets []string) error {
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	_, another := errors.AsType[x509.HostnameError](err)
	_, invalid := errors.AsType[x509.CertificateInvalidError](err)
	if unknown || another || invalid {
		return err
	}
	return Error(err, secrets)
}
