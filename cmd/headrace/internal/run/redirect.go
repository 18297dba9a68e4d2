package run

import (
	"fmt"
	"net/http"
)

func redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// location is where a redirect leads, as a whole URL if that can be told; empty if the answer does not say.
func location(resp *http.Response) string {
	text := resp.Header.Get("Location")
	if text == "" || resp.Request == nil {
		return text
	}
	if u, err := resp.Request.URL.Parse(text); err == nil {
		return u.String()
	}
	return text
}

func redirected(status int, to string) string {
	if to == "" {
		return fmt.Sprintf("a redirect (%d) that does not say to where", status)
	}
	return fmt.Sprintf("a redirect (%d) to %s, which is not followed: --base-url has to be that of the service itself", status, to)
}
