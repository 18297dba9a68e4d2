package headrace

import (
	"encoding/base64"
	"encoding/json"
	"strings"
)

// claimed returns what identifies the account of a JSON Web Token, or "": it
// goes by the claims that stay the same when the token is renewed.
func claimed(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return token
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return token
	}
	var claims map[string]any
	if json.Unmarshal(text, &claims) != nil {
		return token
	}
	var id strings.Builder
	for _, name := range [...]string{"iss", "sub", "azp", "appid", "client_id", "api_key"} {
		if s, ok := claims[name].(string); ok {
			id.WriteString(name + "=" + s + "\n")
		}
	}
	return id.String()
}
