package group

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/internal/localhost"
)

// TokenEnv is the environment variable with the bearer token that members send to a service,
// unless their address has the option token-file.
const TokenEnv = "HEADRACE_GROUP_TOKEN" //nolint:gosec // it is the name of one

const (
	// Path is where a service has its Handler, if the address of a member has no path.
	Path = "/v1/group"

	mostReplicas = 16      // addresses of a service
	mostSecret   = 1 << 14 // bytes of a token
	serviceForms = "use https://HOST:PORT, or https://HOST:PORT,https://HOST:PORT?ca=FILE&token-file=FILE"
)

// parseService returns the service at an address: URLs, with options behind the last one. Problems do
// not repeat the address, in which there may be a password.
func parseService(address string) (*service, error) {
	problems := invalid.Problems{Owner: "group: Join"}
	s := &service{token: func() (string, error) { return os.Getenv(TokenEnv), nil }}
	text, options, _ := strings.Cut(address, "?")
	all := strings.Split(text, ",")
	if len(all) > mostReplicas {
		problems.Addf("address", "it has %d replicas: the maximum is %d", len(all), mostReplicas)
		return nil, problems.Err()
	}
	for i, one := range all {
		u, problem := replica(strings.TrimSpace(one))
		if problem != "" {
			problems.Addf("address", "replica %d: %s", i+1, problem)
			continue
		}
		s.replicas = append(s.replicas, u)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ClientSessionCache: tls.NewLRUClientSessionCache(2 * mostReplicas)}
	s.options(options, config, &problems)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	s.transport = &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, DisableKeepAlives: true, DisableCompression: true,
		MaxResponseHeaderBytes: 1 << 16, TLSHandshakeTimeout: 2 * dialTimeout,
	}
	dialThrough(s.transport, new(net.Dialer).DialContext)
	return s, nil
}

// replica returns the URL in text, or what is wrong with it.
func replica(text string) (u *url.URL, problem string) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, "it is not a URL: " + serviceForms
	case u.User != nil:
		return nil, "it has a user or a password, which would be in every log of addresses: set " + TokenEnv + ", or add ?token-file=FILE"
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, "its scheme is neither https nor http: " + serviceForms
	case u.Hostname() == "" || u.Opaque != "" || u.Fragment != "":
		return nil, "it is not the URL of a host: " + serviceForms
	}
	port := u.Port()
	if port == "" {
		port = u.Scheme // by which CheckAddress does not go
	}
	if u.Scheme == "http" {
		if err := localhost.CheckAddress(net.JoinHostPort(u.Hostname(), port), "use https"); err != nil {
			return nil, err.Error()
		}
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = Path
	}
	return u, ""
}

// options reads what is behind the question mark.
func (s *service) options(text string, config *tls.Config, to *invalid.Problems) {
	values, err := url.ParseQuery(text)
	if err != nil {
		to.Addf("address", "its options are not valid: %s", serviceForms)
		return
	}
	one := func(name string) (value string) {
		given := values[name]
		delete(values, name)
		if len(given) > 1 || len(given) == 1 && given[0] == "" {
			to.Addf("address", "%s needs one value: give the path of a file", name)
			return ""
		}
		return strings.Join(given, "")
	}
	if path := one("ca"); path != "" {
		pem, err := os.ReadFile(path) //nolint:gosec // the user's choice
		config.RootCAs = x509.NewCertPool()
		switch {
		case err != nil:
			to.Addf("address", "ca: %v", err)
		case !config.RootCAs.AppendCertsFromPEM(pem):
			to.Addf("address", "ca: %s has no certificate in PEM", path)
		}
	}
	switch cert, key := one("cert"), one("key"); {
	case cert == "" && key == "":
	case cert == "" || key == "":
		to.Addf("address", "cert and key belong together: give both, or none")
	default:
		load := func() (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(cert, key)
			return &pair, err
		}
		if _, err := load(); err != nil {
			to.Addf("address", "cert and key: %v", err)
		}
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return load() }
	}
	if path := one("token-file"); path != "" {
		s.token = func() (string, error) { return readToken(path) }
	}
	for name := range values {
		to.Addf("address", "%q is not an option: there are ca, cert, key and token-file", name)
	}
	if len(values) == 0 {
		if _, err := s.authorization(); err != nil {
			to.Addf("address", "%v", err)
		}
	}
}

func readToken(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("token-file: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > mostSecret {
		return "", fmt.Errorf("token-file: %s is not a file of at most %d bytes", path, mostSecret)
	}
	text, err := os.ReadFile(path) //nolint:gosec // the user's choice
	if err != nil {
		return "", fmt.Errorf("token-file: %w", err)
	}
	if text := strings.TrimSpace(string(text)); text != "" {
		return text, nil
	}
	return "", fmt.Errorf("token-file: %s is empty", path)
}
