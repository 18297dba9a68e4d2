package line

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The name of a client that is remembered keeps no more than itself in memory.
func TestANameThatIsPieceOfALongText(t *testing.T) {
	text := strings.Repeat("client", 1000)
	l := New(Config{})
	ctx, ticket := l.With(t.Context(), Caller{Client: text[:6]})
	turn := ticket.Turn("api", false)
	_, err := turn.Await(ctx)
	require.NoError(t, err)
	assert.False(t, turn.Asked(nil))
	name := l.Stats()[0].Clients[0].Name
	assert.Equal(t, "client", name)
	assert.NotSame(t, unsafe.StringData(text), unsafe.StringData(name))
}
