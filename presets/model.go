package presets

import (
	"strings"

	"github.com/headrace/headrace/internal/near"
)

// ForModel finds the row of a model in a tier by the name that requests give it.
// The tier may also be given by any of its rows. Case does not matter, dots may
// be written as dashes, and the longest match wins. A version at the end is
// ignored if the table has no row for it: gpt-4o-2024-08-06, command-a-03-2025,
// gemini-2.5-flash-001, -latest. So are the prefix of a path or ARN and the rest
// of a fine-tuned name: models/gemini-2.5-flash, ft:gpt-4o:acme::1. A row such as
// claude-sonnet-4.x matches each of its versions.
//
// An unknown model is an *UnknownError with the nearest models of the tier. A
// model of KindUnavailable is returned together with an *UnavailableError.
func (t *Table) ForModel(tier ID, model string) (Profile, error) {
	provider, rest, _ := strings.Cut(strings.ToLower(strings.TrimSpace(string(tier))), "/")
	level, _, _ := strings.Cut(rest, "/")
	rows := t.of(provider, level)
	spelt := strings.ToLower(strings.TrimSpace(model))
	row := rowOf(rows, spelt)
	if name := bare(spelt); row == nil && name != spelt {
		row = rowOf(rows, name)
	}
	if row != nil {
		return row.clone(), row.err()
	}
	name := provider + "/" + level
	unknown := &UnknownError{Name: name + "/" + model}
	if rows == nil {
		unknown.Near = t.near(name)
		return Profile{}, unknown
	}
	var of []ID
	for _, row := range rows {
		if row.Model != "" {
			of = append(of, row.ID)
		}
	}
	unknown.Near = near.Names(name+"/"+bare(spelt), of, 3)
	return Profile{}, unknown
}

func rowOf(rows []*Profile, name string) *Profile {
	for ; name != ""; name = unversioned(name) {
		for _, same := range [...]func(row, name string) bool{exactly, dashed, family} {
			for _, row := range rows {
				if row.Model != "" && same(strings.ToLower(row.Model), name) {
					return row
				}
			}
		}
	}
	return nil
}

// bare is name without what says where it is from.
func bare(name string) string {
	if tuned, ok := strings.CutPrefix(name, "ft:"); ok {
		name, _, _ = strings.Cut(tuned, ":")
		return name
	}
	if strings.HasPrefix(name, "arn:") {
		return name[strings.LastIndexByte(name, '/')+1:]
	}
	if i := strings.Index("/"+name, "/models/"); i >= 0 {
		return name[i+len("models/"):]
	}
	return name
}

func exactly(row, name string) bool { return row == name }

// dashed compares names in which a dot may have become a dash.
func dashed(row, name string) bool {
	return strings.ReplaceAll(row, ".", "-") == strings.ReplaceAll(name, ".", "-")
}

// family reports whether a row that ends in ".x" covers name: the version itself, and versions with one more number.
func family(row, name string) bool {
	root, ok := strings.CutSuffix(row, ".x")
	if !ok {
		return false
	}
	rest, ok := strings.CutPrefix(strings.ReplaceAll(name, ".", "-"), strings.ReplaceAll(root, ".", "-"))
	return ok && (rest == "" || rest[0] == '-' && len(rest) <= 3 && digits(rest[1:]))
}

// unversioned is name without the version that it ends in, or empty if it has none.
func unversioned(name string) string {
	for _, form := range [...]string{"-latest", "-0000-00-00", "-00-0000", "-00000000", "@00000000", "-0000", "-000"} {
		if rest := len(name) - len(form); rest > 0 && matches(name[rest:], form) {
			return name[:rest]
		}
	}
	return ""
}

// matches compares text with a form in which 0 matches any digit.
func matches(text, form string) bool {
	for i := range len(form) {
		if text[i] != form[i] && (form[i] != '0' || !digits(text[i:i+1])) {
			return false
		}
	}
	return true
}

// digits reports whether s is one or more of them.
func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
