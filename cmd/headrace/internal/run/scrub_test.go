package run_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/cmd/headrace/internal/run"
)

func TestSecretsAreTakenOut(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"sk-canary_77aX", "/sk+canary/b&c<d=", `sk"canary\7%77`, `sk\\canary7`} {
		quoted, err := json.Marshal(key)
		require.NoError(t, err)
		var all, some strings.Builder
		for i := range len(key) {
			fmt.Fprintf(&all, `\u%04X`, key[i])
			if i%2 == 0 {
				fmt.Fprintf(&some, `\u%04x`, key[i])
			} else {
				some.WriteByte(key[i])
			}
		}
		for _, text := range []string{
			key, string(quoted), strings.ReplaceAll(key, "/", `\/`), all.String(), some.String(), url.QueryEscape(key), url.PathEscape(key),
		} {
			if strings.Contains(key, `\`) && text == some.String() {
				continue // no JSON: a backslash stands alone
			}
			text = strings.Trim(text, `"`)
			assert.Equal(t, "it is REDACTED, REDACTED.", run.Scrub("it is "+text+", "+text+".", key), text)
		}
	}
}

// However each letter is spelt, and whatever stands around it; what holds no secret stays as it is.
func TestAnySpelling(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringMatching(`[!-~]{8,40}`).Draw(t, "key")
		around := rapid.StringMatching(`([ a-c]|\\u00e9|\\n|%20|\\\\)*`)
		before, behind := around.Draw(t, "before"), around.Draw(t, "behind")
		var text strings.Builder
		for i := range len(key) {
			ways := []string{fmt.Sprintf(`\u%04x`, key[i]), fmt.Sprintf(`\u%04X`, key[i]), fmt.Sprintf("%%%02x", key[i])}
			if key[i] != '\\' && key[i] != '%' && key[i] != 'u' {
				ways = append(ways, key[i:i+1], `\`+key[i:i+1])
			}
			text.WriteString(rapid.SampledFrom(ways).Draw(t, "way"))
		}
		assert.Equal(t, before+" REDACTED "+behind, run.Scrub(before+" "+text.String()+" "+behind, key))
		assert.Equal(t, before+behind, run.Scrub(before+behind, "~"+key))
		assert.Equal(t, "REDACTED", run.Scrub(key, key))
	})
}

// What a header brings is a secret with and without the word before it, and what is short is none.
func TestWhatIsASecret(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "Bearer REDACTED", run.ScrubHeader("Bearer secret-1", "Cookie-Key", "Other secret-1"))
	assert.Equal(t, "it is REDACTED.", run.ScrubHeader("it is secret-1.", "X-Token", "secret-1"))
	assert.Equal(t, "a word-list", run.ScrubHeader("a word-list", "X-Purpose", "word-list"))
	assert.Equal(t, "a llama of ollama", run.Scrub("a llama of ollama", "ollama"))
	assert.Equal(t, "50 % \\u00e9\\n", run.Scrub("50 % \\u00e9\\n", "sk/canary-1"))
}
