package endpoint

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"mime"
	"strings"

	"github.com/headrace/headrace/internal/panics"
)

// prepare makes the body of a request from a payload that check, if any,
// approves. Everything in it is the user's code.
func prepare(payload any, contentType string, limit int64, check func(any) error) (body []byte, err error) {
	defer panics.Catch(&err)
	r, isReader := payload.(io.Reader)
	if isReader {
		if body, err = io.ReadAll(io.LimitReader(r, min(limit, math.MaxInt64-1)+1)); err != nil {
			return nil, fmt.Errorf("endpoint: the payload, a %T, could not be read: %w", payload, err)
		}
	}
	if check != nil {
		shown := payload
		if isReader {
			shown = body
		}
		if err := check(shown); err != nil {
			return nil, fmt.Errorf("endpoint: the payload, a %T, is not valid: %w", payload, err)
		}
	}
	if isReader {
		return body, nil
	}
	switch p := payload.(type) {
	case nil:
		return nil, nil
	case []byte:
		return p, nil
	case json.RawMessage:
		return p, nil
	case string:
		return []byte(p), nil
	}
	if !isJSON(contentType) {
		return nil, fmt.Errorf("endpoint: the payload, a %T, cannot be made %s of; want a string, []byte or io.Reader", payload, contentType)
	}
	if body, err = json.Marshal(payload); err != nil {
		return nil, fmt.Errorf("endpoint: the payload, a %T, cannot be written as JSON: %w", payload, err)
	}
	return body, nil
}

func isJSON(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && (media == "application/json" || strings.HasSuffix(media, "+json"))
}
