package command

import (
	"crypto/tls"
	"crypto/x509"
	"os"

	"github.com/headrace/headrace/cmd/headrace/internal/settings"
)

// tlsFlags are the TLS flags of commands that listen.
type tlsFlags struct {
	TLSCert     string `group:"listening" name:"tls-cert" placeholder:"FILE" help:"Serve TLS with this certificate (PEM)."`
	TLSKey      string `group:"listening" name:"tls-key" placeholder:"FILE" help:"The key of --tls-cert (PEM)."`
	TLSClientCA string `group:"listening" name:"tls-client-ca" placeholder:"FILE" help:"Accept only clients with a certificate signed by one of these authorities (PEM)."`
}

// tls returns the TLS configuration for clients, or nil for connections without TLS.
func (c *tlsFlags) tls() (*tls.Config, error) {
	switch {
	case c.TLSCert == "" && c.TLSKey == "" && c.TLSClientCA == "":
		return nil, nil
	case c.TLSCert == "" || c.TLSKey == "":
		return nil, &settings.Error{Flag: "--tls-cert", Problem: "TLS needs both --tls-cert and --tls-key"}
	}
	pair, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
	if err != nil {
		return nil, &settings.Error{Flag: "--tls-cert", Problem: err.Error()}
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if c.TLSClientCA == "" {
		return config, nil
	}
	text, err := os.ReadFile(c.TLSClientCA)
	if err != nil {
		return nil, &settings.Error{Flag: "--tls-client-ca", Problem: err.Error()}
	}
	if config.ClientCAs = x509.NewCertPool(); !config.ClientCAs.AppendCertsFromPEM(text) {
		return nil, &settings.Error{Flag: "--tls-client-ca", Problem: c.TLSClientCA + " does not contain a certificate in PEM"}
	}
	config.ClientAuth = tls.RequireAndVerifyClientCert
	return config, nil
}
