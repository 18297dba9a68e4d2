package account

import (
	"encoding/base64"
	"encoding/json"
	"strings"
)

// claimed returns what identifies the account of a JSON Web Token, or "". A token
// that expires is identified by the claims that stay the same when it is renewed;
// any other is a key, such as MiniMax's, with claims that may name the issuer alone.
func claimed(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return token
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return token
	}
	var claims map[string]json.RawMessage
	if json.Unmarshal(text, &claims) != nil || claims["exp"] == nil || string(claims["exp"]) == "null" {
		return token
	}
	var id strings.Builder
	for _, name := range [...]string{"iss", "sub", "azp", "appid", "client_id", "api_key"} {
		if value := claims[name]; value != nil { // a text, or a number, as GitHub's
			id.WriteString(name + "=" + string(value) + "\n")
		}
	}
	return id.String()
}
