package account_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/internal/account"
)

// looked is the context of a request whose account may have been looked up.
type looked struct {
	context.Context //nolint:containedctx // it is a context
	id              account.ID
	ok              bool
}

func (l *looked) Account() (account.ID, bool) { return l.id, l.ok }

func TestAnAccountIsLookedUpOnce(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "https://api.example.com/v1", nil)
	r.Header.Set("Authorization", "Bearer k1")
	plain := account.Of(r)
	assert.NotZero(t, plain)
	assert.Equal(t, account.ID{7}, account.Of(r.WithContext(&looked{t.Context(), account.ID{7}, true})))
	assert.Equal(t, account.ID{}, account.Of(r.WithContext(&looked{t.Context(), account.ID{}, true})), "it has none")
	assert.Equal(t, plain, account.Of(r.WithContext(&looked{t.Context(), account.ID{7}, false})))
}
