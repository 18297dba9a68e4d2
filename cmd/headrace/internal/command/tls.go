package command

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"os"
	"sync"

	"github.com/headrace/headrace/cmd/headrace/internal/settings"
)

// tlsFlags are the TLS flags of commands that listen.
type tlsFlags struct {
	TLSCert     string `group:"listening" name:"tls-cert" placeholder:"FILE" help:"Serve TLS with this certificate (PEM)."`
	TLSKey      string `group:"listening" name:"tls-key" placeholder:"FILE" help:"The key of --tls-cert (PEM)."`
	TLSClientCA string `group:"listening" name:"tls-client-ca" placeholder:"FILE" help:"Accept only clients with a certificate signed by one of these authorities (PEM)."`
}

// tls returns the TLS configuration for clients, or nil for connections without TLS. The files are read again for each
// connection, because certificates are renewed while a server runs.
func (c *tlsFlags) tls(log *slog.Logger) (*tls.Config, error) {
	switch {
	case c.TLSCert == "" && c.TLSKey == "" && c.TLSClientCA == "":
		return nil, nil
	case c.TLSCert == "" || c.TLSKey == "":
		return nil, &settings.Error{Flag: "--tls-cert", Problem: "TLS needs both --tls-cert and --tls-key"}
	}
	pems, err := c.read()
	if err != nil {
		return nil, err
	}
	first, err := pems.config()
	if err != nil {
		return nil, err
	}
	if !c.renewable() {
		return first, nil
	}
	r := &renewals{flags: c, log: log, pems: pems, config: first}
	own := first.Clone()
	own.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return r.latest(), nil }
	return own, nil
}

// renewable reports whether the files can be read again. To open a named pipe would wait for a writer.
func (c *tlsFlags) renewable() bool {
	for _, path := range []string{c.TLSCert, c.TLSKey, c.TLSClientCA} {
		if info, err := os.Stat(path); path != "" && (err != nil || !info.Mode().IsRegular()) {
			return false
		}
	}
	return true
}

// pems are the contents of the files of tlsFlags.
type pems struct {
	cert, key []byte
	ca        []byte // nil: clients need no certificate
	caPath    string
}

func (c *tlsFlags) read() (p pems, err error) {
	if p.cert, err = os.ReadFile(c.TLSCert); err == nil {
		p.key, err = os.ReadFile(c.TLSKey)
	}
	if err != nil {
		return p, &settings.Error{Flag: "--tls-cert", Problem: err.Error()}
	}
	if p.caPath = c.TLSClientCA; p.caPath != "" {
		if p.ca, err = os.ReadFile(p.caPath); err != nil {
			return p, &settings.Error{Flag: "--tls-client-ca", Problem: err.Error()}
		}
	}
	return p, nil
}

func (p *pems) equal(q *pems) bool {
	return bytes.Equal(p.cert, q.cert) && bytes.Equal(p.key, q.key) && bytes.Equal(p.ca, q.ca)
}

func (p *pems) config() (*tls.Config, error) {
	pair, err := tls.X509KeyPair(p.cert, p.key)
	if err != nil {
		return nil, &settings.Error{Flag: "--tls-cert", Problem: err.Error()}
	}
	// One of GetConfigForClient has its own list of protocols.
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	if p.caPath == "" {
		return config, nil
	}
	if config.ClientCAs = x509.NewCertPool(); !config.ClientCAs.AppendCertsFromPEM(p.ca) {
		return nil, &settings.Error{Flag: "--tls-client-ca", Problem: p.caPath + " does not contain a certificate in PEM"}
	}
	config.ClientAuth = tls.RequireAndVerifyClientCert
	return config, nil
}

// renewals follows the files of tlsFlags.
type renewals struct {
	flags *tlsFlags
	log   *slog.Logger

	mu      sync.Mutex // guards everything below
	pems    pems
	config  *tls.Config // of pems
	problem string      // of the files as they are now, if there is one
}

// latest returns the configuration of the files, or that of earlier ones while they cannot be used: the key is replaced
// a moment after the certificate.
func (r *renewals) latest() *tls.Config {
	pems, err := r.flags.read()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil && pems.equal(&r.pems) {
		r.problem = ""
		return r.config
	}
	var config *tls.Config
	if err == nil {
		config, err = pems.config()
	}
	switch {
	case err == nil:
		r.pems, r.config, r.problem = pems, config, ""
		r.log.Info("the TLS files have changed: new connections use them")
	case err.Error() != r.problem:
		r.problem = err.Error()
		r.log.Warn("the TLS files cannot be used: the previous ones stay in use", "err", err)
	}
	return r.config
}
