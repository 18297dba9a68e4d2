package handler_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/internal/handler"
)

const secret = "sk-secret"

func panicsWithASecret() { panic("no such key: " + secret) }

func TestLogged(t *testing.T) {
	for name, tc := range map[string]struct {
		handle func()
		want   []string // nil: nothing is logged
	}{
		"a text":    {panicsWithASecret, []string{"a request panicked", "a value of type string", "panicsWithASecret"}},
		"an error":  {func() { panic(errors.New(secret)) }, []string{"a value of type *errors.errorString"}},
		"one of Go": {func() { var list []int; _ = list[len(secret)] }, []string{"index out of range [9] with length 0"}},
		"an abort":  {func() { panic(http.ErrAbortHandler) }, nil},
	} {
		var text bytes.Buffer
		h := handler.Logged(slog.New(slog.NewTextHandler(&text, nil)), http.HandlerFunc(func(http.ResponseWriter, *http.Request) { tc.handle() }))
		assert.PanicsWithValue(t, http.ErrAbortHandler, func() {
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
		}, name)
		for _, want := range tc.want {
			assert.Contains(t, text.String(), want, name)
		}
		assert.NotContains(t, text.String(), secret, name)
		assert.Equal(t, tc.want == nil, text.Len() == 0, name)
	}
	answer := httptest.NewRecorder()
	handler.Logged(slog.New(slog.DiscardHandler), http.NotFoundHandler()).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/", nil))
	assert.Equal(t, http.StatusNotFound, answer.Code)
}
