package node

import (
	"encoding/json"
	"math/big"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

type (
	hidden   struct{ text string }     //nolint:unused // that is the point
	mixed    struct{ ID, text string } //nolint:unused // that is the point
	base     struct{ Name string }
	promoted struct {
		base
		More int
	}
	byPointer struct {
		*base
		More int
	}
	shadowed struct {
		base
		Name string
	}
	tagged struct {
		ID    string
		Cache *hidden `json:"-"`
	}
	onlyTagged struct {
		Cache *hidden `json:"-"`
	}
	deep     struct{ In []map[string]*hidden }
	function struct{ F func() }
	optional struct {
		ID string
		F  func() `json:",omitzero"`
	}
	branching struct {
		Children []branching
		Name     string
	}
	written struct{ text string }
	odd     struct{ N map[float64]int }
)

func (w *written) MarshalJSON() ([]byte, error)    { return json.Marshal(w.text) }
func (w *written) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &w.text) }

// What the JSON of a type leaves out.
func TestShapes(t *testing.T) {
	for name, tc := range map[string]struct {
		of   *shape
		lost string // empty: it is fine
	}{
		"int":                            {shapeOf[int](), ""},
		"nothing":                        {shapeOf[struct{}](), ""},
		"any":                            {shapeOf[any](), ""},
		"an error":                       {shapeOf[error](), ""},
		"bytes":                          {shapeOf[[]byte](), ""},
		"exported fields":                {shapeOf[base](), ""},
		"promoted fields":                {shapeOf[promoted](), ""},
		"a recursive type":               {shapeOf[branching](), ""},
		"a time":                         {shapeOf[time.Time](), ""},
		"a big number":                   {shapeOf[big.Int](), ""}, // its methods belong to the pointer
		"its own JSON":                   {shapeOf[written](), ""},
		"pointers to it":                 {shapeOf[map[string]*written](), ""},
		"what is left out on purpose":    {shapeOf[tagged](), ""},
		"a function that may be missing": {shapeOf[optional](), ""},
		"unexported fields":              {shapeOf[hidden](), "node.hidden.text"},
		"one unexported field":           {shapeOf[mixed](), "node.mixed.text"},
		"a pointer":                      {shapeOf[*hidden](), "*node.hidden.text"},
		"far inside":                     {shapeOf[deep](), "node.deep.In[][].text"},
		"a field of nothing else":        {shapeOf[struct{ H hidden }](), "struct { H node.hidden }.H.text"},
		"nothing but what is left out":   {shapeOf[onlyTagged](), "everything in node.onlyTagged"},
		"a name that hides another":      {shapeOf[shadowed](), "node.shadowed.Name"},
		"a hidden pointer":               {shapeOf[byPointer](), "node.byPointer.base"},
		"a function":                     {shapeOf[function](), "node.function.F, a func()"},
		"a channel":                      {shapeOf[chan int](), "chan int, a chan int"},
		"odd keys":                       {shapeOf[odd](), "node.odd.N, a map by float64"},
		"values in a map":                {shapeOf[map[string]written](), "map[string]node.written[].text"}, // without the pointer's methods
		"a URL":                          {shapeOf[url.URL](), "url.URL.User.username"},
	} {
		assert.Equal(t, tc.lost, tc.of.lost, name)
	}
}
