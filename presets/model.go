package presets

import "strings"

// ForModel finds the row of a model in a tier by the name that requests give it,
// which may say more than the table does: a version behind the last "-" or
// "@", such as gpt-4o-2024-08-06, claude-haiku-4-5-20251001 or command-a-03-2025, or
// "latest". Dots may be written as dashes, and a row such as claude-sonnet-4.x
// stands for all of its versions. Case does not matter. The longest name wins.
// What stands before a name is left out where there is no row with it: of models/gemini-2.5-flash,
// of publishers/google/models/..., and of an ARN. OpenAI's ft:gpt-4o-2024-08-06:... draws on the quota of what it was tuned from.
//
// ok is false if there is no such row, and for one of KindUnavailable.
func (t *Table) ForModel(provider, tier, model string) (p Profile, ok bool) {
	rows := t.of(strings.ToLower(provider), strings.ToLower(tier))
	spelt := strings.ToLower(model)
	row := rowOf(rows, spelt)
	if name := bare(spelt); row == nil && name != spelt {
		row = rowOf(rows, name)
	}
	if row == nil {
		return Profile{}, false
	}
	return row.clone(), row.err() == nil
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

// ForModel is Default().ForModel.
func ForModel(provider, tier, model string) (Profile, bool) {
	return Default().ForModel(provider, tier, model)
}

func exactly(row, name string) bool { return row == name }

// dashed compares names in which a dot may have become a dash.
func dashed(row, name string) bool {
	return strings.ReplaceAll(row, ".", "-") == strings.ReplaceAll(name, ".", "-")
}

// family reports whether a row that ends in ".x" stands for name: for the
// version itself, and for what has one more number.
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

// matches compares text with a form in which 0 stands for any digit.
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
