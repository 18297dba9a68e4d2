package picture

import (
	"strconv"
	"strings"

	"github.com/headrace/headrace/internal/svg"
)

// The sizes, in units of the picture, which are pixels on the page of a repository.
const (
	width  = 830.0
	margin = 20.0
	head   = 76.0  // above the first terminal
	left   = 72.0  // of the plot
	right  = 810.0 // of the plot
	above  = 34.0  // the plot
	plot   = 220.0 // its height
	below  = 52.0  // the plot
)

// style uses no font that has to be loaded, and sets its own background, because the colours of the surrounding page may differ
// from those that the reader's system prefers.
const style = `
text{font:12px system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;fill:#59636e}
.card{fill:#fff;stroke:#d1d9e0}
.h{font-size:21px;font-weight:600;fill:#1f2328}.sum{font-size:15px}.n{font-weight:600;fill:#1f2328}.dot{fill:#59636e}
.r{text-anchor:end}.m{text-anchor:middle}
.grid{stroke:#818b98;opacity:.25}.axis{stroke:#818b98}.look{stroke:#818b98;stroke-dasharray:2 3}
.answer{fill:#7db8f5}.refusal{fill:#d1242f}
path,line{fill:none}.limit{stroke:#bc4c00;stroke-width:2.5;stroke-linejoin:round}.edge{stroke:#fff;stroke-width:5.5;stroke-linejoin:round}
.l{font-size:13px;font-weight:600;paint-order:stroke;stroke:#fff;stroke-width:3px;stroke-linejoin:round}
.k-full{fill:#59636e;font-weight:400}.k-limit{fill:#bc4c00}.k-refusal{fill:#d1242f}.k-answer{fill:#0a3069;font-size:13px;font-weight:600}
.term{fill:#0d1117}
.t{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace;fill:#e6edf3;white-space:pre}
.b{font-weight:700}.dim{fill:#8b949e}.red{fill:#ff7b72}.green{fill:#3fb950}.yellow{fill:#d29922}
@media(prefers-color-scheme:dark){
text{fill:#9198a1}.card{fill:#0d1117;stroke:#3d444d}.h,.n{fill:#f0f6fc}.dot{fill:#9198a1}
.answer{fill:#1f6feb}.refusal{fill:#f85149}.limit{stroke:#f0883e}.edge,.l{stroke:#0d1117}
.k-full{fill:#9198a1}.k-limit{fill:#f0883e}.k-refusal{fill:#f85149}.k-answer{fill:#fff}
.term{fill:#161b22}.t{fill:#e6edf3}.dim{fill:#8b949e}.red{fill:#ff7b72}.green{fill:#3fb950}.yellow{fill:#d29922}
}
`

// pen draws a picture.
type pen struct{ svg.Pen }

// number writes 1,234, or 1.2M.
func number(v float64) string {
	if v >= 1e6 {
		return strconv.FormatFloat(v/1e6, 'g', 3, 64) + "M"
	}
	s := strconv.FormatFloat(v, 'f', -1, 64)
	whole, rest, found := strings.Cut(s, ".")
	if len(whole) > 3 {
		whole = whole[:len(whole)-3] + "," + whole[len(whole)-3:]
	}
	if found {
		whole += "." + rest
	}
	return whole
}

// tick writes the number at a mark of an axis in a short form, such as 1.5k.
func tick(v float64) string {
	if v >= 1e3 && v < 1e6 {
		return strconv.FormatFloat(v/1e3, 'f', -1, 64) + "k"
	}
	return number(v)
}
