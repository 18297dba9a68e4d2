package rest

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/headrace/headrace/internal/localhost"
)

// refuse says why a request is not let in; nil if it is.
func (h *Handler) refuse(r *http.Request) *problem {
	tokens := h.o.Tokens()
	if len(tokens) == 0 {
		if !h.o.Local {
			return nil
		}
		if err := localhost.Check(r, h.o.Hosts); err != nil {
			return &problem{Status: http.StatusForbidden, Code: "FORBIDDEN", Detail: err.Error()}
		}
		return nil
	}
	if Allowed(tokens, r.Header.Values("Authorization")) {
		return nil
	}
	return &problem{
		Status: http.StatusUnauthorized, Code: "UNAUTHORIZED", challenge: true,
		Detail: "the token is missing or wrong: send the header Authorization: Bearer TOKEN",
	}
}

// Allowed reports whether the values of an Authorization header are one of the tokens.
// The time that it takes does not depend on how much of a token is right.
func Allowed(tokens [][sha256.Size]byte, values []string) bool {
	if len(values) != 1 {
		return false
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(token)))
	found := 0
	for i := range tokens {
		found |= subtle.ConstantTimeCompare(sum[:], tokens[i][:])
	}
	return found == 1 && strings.EqualFold(scheme, "bearer")
}
