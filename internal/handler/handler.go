// Package handler logs the panics of HTTP handlers. What net/http itself writes about them has their values, which may repeat
// a secret, so programs that hold secrets discard it.
package handler

import (
	"log/slog"
	"net/http"

	"github.com/headrace/headrace/internal/panics"
)

// Logged is next with its panics in the log, by panics.Log. As without it, a panic ends the connection.
func Logged(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v != http.ErrAbortHandler { //nolint:errorlint,err113,nolintlint // as net/http compares it
				panics.Log(r.Context(), log, "a request panicked", panics.Error(v))
			}
			panic(http.ErrAbortHandler)
		}()
		next.ServeHTTP(w, r)
	})
}
