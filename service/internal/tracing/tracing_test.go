package tracing_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/headrace/headrace/service/internal/tracing"
)

// deadlines is a ResponseWriter as a server has it.
type deadlines struct {
	*httptest.ResponseRecorder

	set bool
}

func (d *deadlines) SetWriteDeadline(time.Time) error {
	d.set = true
	return nil
}

// A handler can still set deadlines, and an answer without WriteHeader has the status 200.
func TestResponseWriter(t *testing.T) {
	kept := tracetest.NewInMemoryExporter()
	tracer := tracing.New(trace.NewTracerProvider(trace.WithSyncer(kept)))
	of := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	w, _, end := tracer.HTTP(of, httptest.NewRequest(http.MethodGet, "https://localhost/a", nil), "/a")
	require.NoError(t, http.NewResponseController(w).SetWriteDeadline(time.Now()))
	assert.True(t, of.set)
	_, err := w.Write([]byte("x"))
	require.NoError(t, err)
	end()
	require.Len(t, kept.GetSpans(), 1)
	all := map[string]any{}
	for _, a := range kept.GetSpans()[0].Attributes {
		all[string(a.Key)] = a.Value.AsInterface()
	}
	assert.Equal(t, int64(http.StatusOK), all["http.response.status_code"])
	assert.Equal(t, "https", all["url.scheme"])
}

// A nil tracer makes no spans and changes nothing, and so does a note without a span.
func TestNoTracer(t *testing.T) {
	tracer := tracing.New(nil)
	assert.Nil(t, tracer)
	of, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/a", nil)
	w, traced, end := tracer.HTTP(of, r, "/a")
	end()
	assert.Same(t, of, w)
	assert.Same(t, r, traced)
	ctx, ended := tracer.RPC(t.Context(), "/a/B")
	ended(nil)
	assert.Equal(t, t.Context(), ctx)
	tracing.Note(context.Background(), "allowed", "", "")
}

// Whatever the code, a span ends.
func TestUnknownCodes(t *testing.T) {
	kept := tracetest.NewInMemoryExporter()
	tracer := tracing.New(trace.NewTracerProvider(trace.WithSyncer(kept)))
	_, end := tracer.RPC(t.Context(), "")
	end(status.Error(codes.Code(99), "x"))
	require.Len(t, kept.GetSpans(), 1)
	assert.Equal(t, "99", kept.GetSpans()[0].Attributes[2].Value.AsString())
}
