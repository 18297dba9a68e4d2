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

// location returns the target of a redirect, as an absolute URL if possible, or an empty text if there is none.
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
		return fmt.Sprintf("a redirect (%d) without a target", status)
	}
	return fmt.Sprintf("a redirect (%d) to %s, which is not followed: set --base-url to the URL of the service itself", status, to)
}
