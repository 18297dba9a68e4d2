package httpclient_test

import (
	"errors"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/httpclient"
)

func TestValidateNamesTheField(t *testing.T) {
	type config = httpclient.Config
	proxy := func(host, target string) config {
		u, _ := url.Parse(target)
		return config{Proxies: map[string]*url.URL{host: u}}
	}
	for _, tc := range []struct {
		config config
		field  string
	}{
		{config{Timeouts: httpclient.Timeouts{Connect: -1}}, "Timeouts.Connect"},
		{config{Timeouts: httpclient.Timeouts{TLS: -1}}, "Timeouts.TLS"},
		{config{Timeouts: httpclient.Timeouts{Header: -1}}, "Timeouts.Header"},
		{config{Timeouts: httpclient.Timeouts{BodyIdle: -1}}, "Timeouts.BodyIdle"},
		{config{Timeouts: httpclient.Timeouts{Call: -1}}, "Timeouts.Call"},
		{config{Timeouts: httpclient.Timeouts{Call: time.Second, NoCall: true}}, "Timeouts.NoCall"},
		{config{Pool: httpclient.Pool{MaxIdle: -1}}, "Pool.MaxIdle"},
		{config{Pool: httpclient.Pool{MaxIdlePerHost: -1}}, "Pool.MaxIdlePerHost"},
		{config{Pool: httpclient.Pool{MaxIdle: 1, MaxIdlePerHost: 2}}, "Pool.MaxIdlePerHost"},
		{config{Pool: httpclient.Pool{MaxPerHost: -1}}, "Pool.MaxPerHost"},
		{config{Pool: httpclient.Pool{Idle: -1}}, "Pool.Idle"},
		{config{MaxRequest: -1}, "MaxRequest"},
		{config{MaxResponse: -1}, "MaxResponse"},
		{config{MaxHeader: -1}, "MaxHeader"},
		{config{UserAgent: "a\nb"}, "UserAgent"},
		{config{RunID: "ä"}, "RunID"},
		{config{Proxies: map[string]*url.URL{"h": nil}}, "Proxies[h]"},
		{proxy("H", "http://p"), "Proxies[H]"},
		{proxy("", "http://p"), "Proxies[]"},
		{proxy("h", "ftp://p"), "Proxies[h]"},
		{proxy("h", "http://"), "Proxies[h]"},
		{config{Wrap: []func(http.RoundTripper) http.RoundTripper{nil}}, "Wrap"},
	} {
		_, err := httpclient.New(tc.config)
		var field *fault.FieldError
		require.ErrorAs(t, err, &field, tc.field)
		assert.Equal(t, "httpclient", field.Owner)
		assert.Equal(t, tc.field, field.Field)
		assert.Equal(t, field.Error(), err.Error(), "exactly one problem")
	}
}

func TestNewJoinsAllProblems(t *testing.T) {
	_, err := httpclient.New(httpclient.Config{MaxRequest: -1, MaxResponse: -1, RunID: "\n"})
	joined, is := err.(interface{ Unwrap() []error })
	require.True(t, is)
	assert.Len(t, joined.Unwrap(), 3)
}

func TestNewRefusesAWrapThatGivesNil(t *testing.T) {
	_, err := httpclient.New(httpclient.Config{Wrap: []func(http.RoundTripper) http.RoundTripper{
		func(http.RoundTripper) http.RoundTripper { return nil },
	}})
	var field *fault.FieldError
	require.True(t, errors.As(err, &field))
	assert.Equal(t, "Wrap[0]", field.Field)
}
