package redact

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// MinSecret is the length from which a value is one: replacing shorter ones would garble the text.
const MinSecret = 4

// Secrets collects what must not be repeated of req, the longest first: one may begin with another.
func Secrets(req *http.Request) []string {
	var found []string
	add := func(value string) {
		if len(value) >= MinSecret && !isHost(req.URL, value) {
			found = append(found, value)
		}
	}
	for name, values := range req.Header {
		if Harmless(name) {
			continue
		}
		for _, value := range values {
			addHeader(name, value, add)
		}
	}
	if req.URL != nil {
		addURL(req.URL, add)
	}
	for _, value := range found {
		found = append(found, spellings(value)...)
	}
	slices.SortFunc(found, func(a, b string) int { return len(b) - len(a) })
	return found
}

func addHeader(name, value string, add func(string)) {
	add(value)
	scheme, token, ok := strings.Cut(value, " ") // "Bearer x"
	if ok {
		add(token)
	}
	if strings.EqualFold(scheme, "Basic") {
		if plain, err := base64.StdEncoding.DecodeString(token); err == nil {
			user, password, _ := strings.Cut(string(plain), ":")
			add(string(plain))
			add(user)
			add(password)
		}
	}
	if name == "Cookie" {
		for pair := range strings.SplitSeq(value, ";") {
			_, one, _ := strings.Cut(pair, "=")
			add(strings.Trim(one, ` "`))
		}
	}
}

// spellings returns the quoted and escaped forms of a value that differ from it.
func spellings(value string) []string {
	quoted := strconv.Quote(value) // as net/http does with what it does not understand
	all := []string{quoted[1 : len(quoted)-1], url.QueryEscape(value), url.PathEscape(value), strings.ReplaceAll(value, "/", `\/`)}
	if text, err := json.Marshal(value); err == nil {
		all = append(all, string(text[1:len(text)-1]))
	}
	return slices.DeleteFunc(all, func(other string) bool { return other == value })
}

func addURL(u *url.URL, add func(string)) {
	for part := range strings.SplitSeq(u.RawQuery, "&") {
		name, value, named := strings.Cut(part, "=")
		if !named {
			value = name // a value without its name
		}
		if !strings.Contains(u.Path, value) { // which errors show as it is
			add(value)
		}
		if plain, err := url.QueryUnescape(value); err == nil && !strings.Contains(u.Path, plain) {
			add(plain)
		}
	}
	if u.User != nil {
		password, _ := u.User.Password()
		add(u.User.Username())
		add(password)
		add(u.User.String())
		add(base64.StdEncoding.EncodeToString([]byte(u.User.Username() + ":" + password))) // how it is sent
	}
}

// isHost reports whether value is what errors name anyway, and have to.
func isHost(u *url.URL, value string) bool {
	return u != nil && (strings.EqualFold(value, u.Host) || strings.EqualFold(value, u.Hostname()))
}

// Harmless names the headers with values that are words of the protocol.
func Harmless(header string) bool {
	switch header {
	case "Accept", "Accept-Encoding", "Accept-Language", "Cache-Control", "Connection", "Content-Encoding",
		"Content-Length", "Content-Type", "Date", "Expect", "Host", "If-Modified-Since", "Range", "User-Agent",
		"X-Correlation-Id", "X-Run-Id":
		return true
	default:
		return false
	}
}
