package presets_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/presets"
)

// one is a file of one row.
func one(t *testing.T, row map[string]any) []byte {
	t.Helper()
	data, err := json.Marshal(map[string]any{
		"compiled": "2026-11-20", "presets": []any{row},
		"sources": map[string]any{row0(row["source"]): map[string]string{"title": "x"}},
	})
	require.NoError(t, err)
	return data
}

func row0(source any) string {
	s, _ := source.(string)
	return s
}

// A row of each kind that the table has, with one field altered at a time.
func TestTheCheckerSeesWhateverIsWrongWithARow(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range raw(t) {
		_, err := presets.Parse(one(t, row))
		require.NoError(t, err, "%v", row["id"])
		keys := fmt.Sprint(slices.Sorted(maps.Keys(row)))
		if seen[keys] {
			continue
		}
		seen[keys] = true
		alter := func(key string, value any) {
			bad := maps.Clone(row)
			bad[key] = value
			if value == nil {
				delete(bad, key)
			}
			if key == "source" {
				bad["source"] = "elsewhere"
				data := strings.Replace(string(one(t, bad)), `"sources":{"elsewhere"`, `"sources":{"here"`, 1)
				_, err = presets.Parse([]byte(data))
			} else {
				_, err = presets.Parse(one(t, bad))
			}
			var e *presets.RowError
			require.ErrorAs(t, err, &e, "%v: %s = %v", row["id"], key, value)
			assert.Positive(t, e.Line)
			if key != "id" {
				assert.EqualValues(t, row["id"], e.ID)
			}
		}
		for _, key := range []string{"id", "as_of", "confidence"} {
			alter(key, nil)
		}
		for _, key := range []string{"id", "provider", "tier", "source", "as_of", "confidence", "kind", "dated", "dialect"} {
			alter(key, "nonsense")
		}
		for _, key := range []string{"id", "provider", "notes", "as_of"} {
			alter(key, 2026)
			alter(key, "")
		}
		if strings.Count(row["id"].(string), "/") == 2 {
			alter("model", "gpt-2")
		}
		for key, v := range row {
			if _, ok := v.(float64); ok {
				for _, wrong := range []any{0, -1, 1.5, 1e15, "500", true} {
					alter(key, wrong)
				}
			}
		}
		alter("as_of", "2014-12-31")
		alter("as_of", "2026-11-21")
		alter("as_of", "2026-13")
		alter("main", "yes")
		alter("rmp", 5)
	}
}

const good = `{"id": "a/b/c", "rpm": 5, "source": "s", "as_of": "2026-11-20", "confidence": "high"}`

func TestProblemsHaveAPlaceAndARemedy(t *testing.T) {
	file := func(rows string) string {
		return `{"schema": 1, "compiled": "2026-11-20",
"sources": {"console": {"title": "t", "url": "https://example.com/x"}, "s": {"title": "t"}},
"presets": [
  ` + rows + `
]}`
	}
	with := func(old, next string) string { return file(strings.Replace(good, old, next, 1)) }
	for _, tc := range []struct{ name, file, want string }{
		{"unknown field", with(`"rpm": 5`, `"rmp": 5`), `presets: line 4:26: row 1 (a/b/c): rmp: unknown field: did you mean rpm?`},
		{"unknown field like nothing", with(`"rpm": 5`, `"rpm": 5, "zzzzzzzzzz": 5`), `zzzzzzzzzz: unknown field: leave it out`},
		{"upper case field", with(`"rpm": 5`, `"RPM": 5`), `RPM: unknown field`},
		{"second row", file(good + ",\n  " + strings.Replace(strings.Replace(good, "a/b/c", "a/b/d", 1), "5", "0", 1)), `presets: line 5:26: row 2 (a/b/d): rpm: 0 is not between 1 and 10000000`},
		{"too large", with("5", "10000001"), "rpm: 10000001 is not between 1 and 10000000"},
		{"text for number", with("5", `"5"`), `rpm: "5" is a text: write the number without quotes`},
		{"fraction", with("5", "5.5"), `rpm: 5.5 is not a whole number in digits`},
		{"number for text", with(`"high"`, "1"), `confidence: 1 is not a text in quotes`},
		{"null flag", with(`"rpm"`, `"main": null, "rpm"`), "main: null is neither true nor false"},
		{"twice in a row", with(`"rpm"`, `"rpm": 4, "rpm"`), "presets: line 4:36: row 1 (a/b/c): rpm: it is given twice: leave one out"},
		{"same id twice", file(good + "," + good), "row 2 (a/b/c): id: row 1 has it already: give one of them another"},
		{"upper case id", with("a/b/c", "a/b/C"), `id: "a/b/C" is not in lower case`},
		{"id of one part", with("a/b/c", "a"), `id: "a" is not provider/tier/model or provider/tier`},
		{"id with a hole", with("a/b/c", "a//c"), `id: "a//c" is not provider/tier/model`},
		{"source", with(`"s"`, `"consol"`), `source: "consol" is not a source: did you mean console?`},
		{"source like nothing", with(`"s"`, `"blog of somebody"`), `is not a source: name one of the file's sources`},
		{"no limit", with(`"rpm": 5, `, ""), `row 1 (a/b/c): it limits nothing: add a number such as rpm, or set kind to info`},
		{"limits that are none", with(`"rpm"`, `"kind": "info", "rpm"`), `kind: it is info, and there are limits`},
		{"burst of nothing", with(`"rpm": 5`, `"tpm": 5, "burst": 5`), `burst: a burst needs a rate: add rps or rpm`},
		{"two kinds of points", with(`"rpm": 5`, `"ipm": 5, "inputs_per_min": 5`), `inputs_per_min: the row counts images already`},
		{"reset", with(`"rpm"`, `"reset": "noon UTC", "rpm"`), `reset: "noon UTC" is not understood: write "midnight UTC"`},
		{"reset of this machine", with(`"rpm"`, `"reset": "midnight Local", "rpm"`), `reset: "midnight Local" is not understood`},
		{"zone", with(`"rpm"`, `"reset": "midnight Mars/Base", "rpm"`), `reset: the time zone "Mars/Base" is unknown`},
		{"late", with("2026-11-20", "2026-11-21"), "as_of: 2026-11-21 is after the date of the file, 2026-11-20"},
		{"dated", with(`"rpm"`, `"dated": "yes", "rpm"`), `dated: "yes" is not understood`},
		{"empty text", with(`"rpm"`, `"notes": "", "rpm"`), "notes: it is empty: leave it out"},
		{"row is no object", file("5"), "presets: line 4:3: row 1: it is not an object in braces"},
		{"rows are no list", `{"presets": {}}`, "presets: line 1:13: presets: it is not a list in brackets"},
		{"constants are no list", `{"constants": "a"}`, "constants: it is not a list in brackets"},
		{"sources are no object", `{"sources": []}`, "sources: it is not an object in braces"},
		{"source without title", `{"sources": {"s": {"url": ""}}}`, "presets: line 1:19: sources.s.title: it is missing"},
		{"source with a bad address", `{"sources": {"s": {"title": "t", "url": "ftp://x"}}}`, `sources.s.url: "ftp://x" is not a web address`},
		{"source with another field", `{"sources": {"s": {"titel": "t"}}}`, "titel: unknown field: did you mean title?"},
		{"top field", `{"preset": []}`, "preset: unknown field: did you mean presets?"},
		{"schema", `{"schema": 2}`, "schema: 2 is not a version that is understood: write 1"},
		{"twice in the file", `{"schema": 1, "schema": 1}`, "presets: line 1:25: schema: it is given twice"},
		{"source twice", `{"sources": {"s": {"title": "t"}, "s": {"title": "t"}}}`, "s: it is given twice"},
		{"compiled", `{"compiled": "today"}`, `compiled: "today" is not a date`},
		{"syntax", "{\n\"presets\": [}", "presets: line 2:13: it is not JSON: invalid character '}'"},
		{"cut off", file(good)[:40], "it is not JSON: unexpected end of JSON input"},
		{"more than one", "{} {}", "presets: line 1:4: it is not JSON"},
		{"list", "[]", "presets: line 1:1: it is not an object in braces"},
		{"nothing", "", "it is not JSON"},
	} {
		table, err := presets.Parse([]byte(tc.file))
		assert.ErrorContains(t, err, tc.want, tc.name)
		assert.Nil(t, table, tc.name)
		var e *presets.RowError
		assert.ErrorAs(t, err, &e, tc.name)
	}
	table, err := presets.Parse([]byte(file(good)))
	require.NoError(t, err)
	p, err := table.Lookup("a/b/c")
	require.NoError(t, err)
	assert.Equal(t, "c", p.Model)
}

func TestAllProblemsComeAtOnceAndNotThousands(t *testing.T) {
	_, err := presets.Parse([]byte(`{"presets": [{"id": "a/b", "rpm": 0}, {"id": "a/c", "rpm": -1}]}`))
	assert.ErrorContains(t, err, "row 1 (a/b): rpm")
	assert.NotContains(t, err.Error(), "limits nothing", "the number was meant")
	assert.ErrorContains(t, err, "row 2 (a/c): rpm")
	_, err = presets.Parse([]byte(`{"presets": [` + strings.Repeat(`{},`, 9999) + `{}]}`))
	assert.Len(t, strings.Split(err.Error(), "\n"), 50)
	_, err = presets.Parse([]byte(`{"presets": [{` + strings.Repeat(`"x": 1,`, 200_000) + `"x": 1}]}`))
	assert.Len(t, strings.Split(err.Error(), "\n"), 50)
	_, err = presets.Parse([]byte(`{"presets": [{"id": "a/b", "notes": ` + strings.Repeat("9", 5000) + `}]}`))
	assert.Less(t, len(err.Error()), 2000)
}

func TestProblemsComeInTheOrderOfTheLines(t *testing.T) {
	_, err := presets.Parse([]byte(strings.Join([]string{
		`{"presets": [`, `{"id": "a/b"},`, `{"id": "a/c",`, `"rmp": 5,`, `"rpm": 0}],`, `"compiled": "today"}`,
	}, "\n")))
	joined, ok := err.(interface{ Unwrap() []error })
	require.True(t, ok)
	var lines []int
	for _, err := range joined.Unwrap() {
		var e *presets.RowError
		require.ErrorAs(t, err, &e)
		lines = append(lines, e.Line)
	}
	assert.True(t, slices.IsSorted(lines), "%v", lines)
	assert.Equal(t, []int{2, 6}, []int{lines[0], lines[len(lines)-1]})
	assert.Subset(t, lines, []int{3, 4, 5})
}

func TestTheModelIsPutIntoTheAddress(t *testing.T) {
	table, err := presets.Parse([]byte(`{"sources": {"s": {"title": "t", "url": "https://example.com/<model>.md"}}, "presets": [
		{"id": "a/b/m/x?y", "model": "M/x?y", "rpm": 5, "source": "s", "as_of": "2026", "confidence": "high"}]}`))
	require.NoError(t, err)
	p, err := table.Lookup("a/b/m/x?y")
	require.NoError(t, err)
	assert.Equal(t, "https://example.com/M%2Fx%3Fy.md", p.Source.URL)
}

// A person edits rows and reads their history: one a line, sources on top.
func TestFactsHaveOneRowALine(t *testing.T) {
	data, err := os.ReadFile("facts.json")
	require.NoError(t, err)
	lines := strings.Split(string(data), "\n")
	begin := 0
	for i, l := range lines {
		if l == `"presets": [` {
			begin = i + 1
		}
	}
	require.Positive(t, begin)
	for i, row := range raw(t) {
		assert.True(t, strings.HasPrefix(lines[begin+i], fmt.Sprintf(`  {"id": %q, `, row["id"])), "line %d", begin+i+1)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"sources": {"s": {"title": "t"}}, "presets": [` + good + `]}`))
	f.Add([]byte(`{"presets": [{"id": "a/b", "reset": "midnight UTC", "rpd": 5, "burst": 3}]}`))
	f.Add([]byte(`{"presets": [null, {"a": {}}, []], "sources": null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := presets.Parse(data)
		if err != nil {
			assert.Nil(t, table)
			return
		}
		for id, p := range table.All() {
			found, _ := table.Lookup(string(id))
			assert.Equal(t, p.ID, found.ID)
			require.NoError(t, p.Limits.Validate())
		}
	})
}
