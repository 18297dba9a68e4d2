// Package svg has what the pictures of this module are drawn with: a pen, scales
// with round marks, and lines. What a picture looks like is the business of the
// packages that draw one.
package svg

import (
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Pen collects the elements of a picture. The zero Pen is ready for use.
type Pen struct{ strings.Builder }

// Addf adds elements, formatted as by fmt.Sprintf.
func (p *Pen) Addf(format string, args ...any) { _, _ = fmt.Fprintf(p, format, args...) }

// Short is x to a tenth of a unit, as short as it can be written.
func Short(x float64) string { return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64) }

// Escape returns text as the content of an element or an attribute.
func Escape(text string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(text)); err != nil {
		return ""
	}
	return b.String()
}
