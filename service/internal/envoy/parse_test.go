package envoy_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/service/internal/envoy"
)

func TestProblemsAreNamedWithTheirPlace(t *testing.T) {
	for problem, yaml := range map[string]string{
		"envoy: 1.yaml:1:1: (file): the file is empty":                                  "",
		"envoy: 1.yaml:2:1: (file): a second document begins":                           "domain: d\n---\ndomain: e",
		"envoy: 1.yaml:1:1: domain: it is empty":                                        "descriptors: []",
		"envoy: 1.yaml:1:1: (file): it is not a mapping":                                "- domain: d",
		"envoy: 1.yaml:2:1: descriptor: it is not a setting: did you mean descriptors?": "domain: d\ndescriptor: []",
		"envoy: 1.yaml:2:15: descriptors: it is not a list":                             "domain: d\ndescriptors:  {}",
		"envoy: 1.yaml:3:3: descriptors[0]: it is not a mapping":                        "domain: d\ndescriptors:\n- x",
		"envoy: 1.yaml:3:3: descriptors[0].key: it is empty":                            "domain: d\ndescriptors:\n- value: x",
		"envoy: 1.yaml:3:8: descriptors[0].key: it is not a text":                       "domain: d\ndescriptors:\n- key: [a]",
		"envoy: 1.yaml:4:3: descriptors[1]: d.a=b is at 1.yaml:3:3 too":                 "domain: d\ndescriptors:\n- {key: a, value: b}\n- {key: a, value: b}",
		"envoy: 1.yaml:3:12: descriptors[0].key: it is given twice":                     "domain: d\ndescriptors:\n- {key: a, key: b}",
		"envoy: 1.yaml:3:3: descriptors[0].share_threshold: it needs a value with a *":  "domain: d\ndescriptors:\n- {key: a, value: b, share_threshold: true}",
		"envoy: 1.yaml:3:25: descriptors[0].shadow_mode: it is neither true nor false":  "domain: d\ndescriptors:\n- {key: a, shadow_mode: 1}",
		"descriptors[0].rate_limit: it is not a mapping":                                "domain: d\ndescriptors:\n- {key: a, rate_limit: 4/s}",
		`descriptors[0].rate_limit.unit: "fortnight" is not a unit`:                     limited(`unit: fortnight, requests_per_unit: 1`),
		`descriptors[0].rate_limit.unit: "" is not a unit`:                              limited(`requests_per_unit: 1`),
		`descriptors[0].rate_limit.unit: "UNKNOWN" is not a unit`:                       limited(`unit: UNKNOWN, requests_per_unit: 1`),
		`rate_limit.unlimied: it is not a setting: did you mean unlimited?`:             limited(`unlimied: true, unit: day`),
		`rate_limit.colour: it is not a setting: there are ["name" "replaces"`:          limited(`colour: red, unit: day`),
		`rate_limit.unit: an unlimited descriptor has no unit`:                          limited(`unlimited: true, unit: day`),
		`rate_limit.requests_per_unit: it is not a whole number from 0 to 4294967295`:   limited(`unit: day, requests_per_unit: -1`),
		`3:55: descriptors[0].rate_limit.requests_per_unit: it is not a whole number`:   limited(`unit: day, requests_per_unit: 1.5`),
		`rate_limit.requests_per_unit: it is not a whole number from 0 to`:              limited(`unit: day, requests_per_unit: 4294967296`),
		`rate_limit.requests_per_unit: it is not a whole number from 0`:                 limited(`unit: day, requests_per_unit: "10"`),
		`rate_limit.unit_multiplier: unit_multiplier is 0`:                              limited(`unit: day, requests_per_unit: 1, unit_multiplier: 0`),
		`rate_limit.unit_multiplier: 101 years are longer than a century`:               limited(`unit: YEAR, requests_per_unit: 1, unit_multiplier: 101`),
		`rate_limit.replaces[0].name: it is empty`:                                      limited(`unit: day, replaces: [{name: ""}]`),
		`rate_limit.replaces[1].name: a limit cannot replace itself`:                    limited(`unit: day, name: a, replaces: [{name: b}, {name: a}]`),
		`rate_limit.replaces[0]: it is not a mapping`:                                   limited(`unit: day, replaces: [a]`),
		"(file): it is not YAML":                                                        "domain: [",
		"(file): it has 4194305 bytes: at most 4194304 are read":                        strings.Repeat("#", envoy.MaxFile+1),
		"(file): the entries are nested too deeply":                                     "domain: d\ndescriptors: " + strings.Repeat("[{key: a, descriptors: ", 60) + strings.Repeat("}]", 60),
		"(file): the aliases add more than":                                             bomb(),
	} {
		c, differences, err := envoy.Parse(named(yaml))
		require.ErrorContains(t, err, problem)
		assert.ErrorAs(t, err, new(*fault.FieldError), problem)
		assert.Nil(t, c)
		assert.Nil(t, differences)
	}
}

func limited(settings string) string {
	return "domain: d\ndescriptors:\n- {key: a, rate_limit: {" + settings + "}}"
}

// bomb has a list of lists of lists, each ten times.
func bomb() string {
	var b strings.Builder
	b.WriteString("a: &a0 [{key: k}]\n")
	for i := range 9 {
		fmt.Fprintf(&b, "b%d: &a%d [%s]\n", i, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("{key: k, descriptors: *a%d}, ", i), 10), ", "))
	}
	return b.String() + "domain: d\ndescriptors: *a9\n"
}

func TestProblemsAreJoined(t *testing.T) {
	_, _, err := envoy.Parse(named(
		"domain: d\ndescriptors: [{key: a, limit: 1}, {value: x}]",
		"domain: e\ndescriptors:\n"+strings.Repeat("- {value: x}\n", 100)))
	for _, problem := range []string{"1.yaml:2:24: descriptors[0].limit", "1.yaml:2:35: descriptors[1].key", "2.yaml:3:3: descriptors[0].key"} {
		assert.ErrorContains(t, err, problem)
	}
	assert.Equal(t, 20, strings.Count(err.Error(), "envoy: "), "no more than that")
}

// What envoyproxy/ratelimit reads in its own way.
func TestValuesAreTakenAsWritten(t *testing.T) {
	f := serve(t, `
domain: d
descriptors:
  - {key: v, value: 1.10, rate_limit: {unit: MINUTE, requests_per_unit: 1}}
  - {key: v, value: 010, rate_limit: {unit: Minute, requests_per_unit: 2}}
  - {key: v, value: true, rate_limit: {unit: minute, requests_per_unit: 3}}
  - {key: v, value: 2026-11-23, rate_limit: {unit: minute, requests_per_unit: 4.0}}
  - {key: v, value: 50.0.0.5, rate_limit: {unit: minute, requests_per_unit: 0x10}}
  - {key: v, value: ~, rate_limit: {unit: minute, requests_per_unit: 1_0}, shadow_mode: no}
  - {key: w, rate_limit: {unit: week, requests_per_unit: 1, unit_multiplier: 2}, shadow_mode: yes, descriptors: ~}
`)
	for value, want := range map[string]int{"1.10": 1, "010": 2, "true": 3, "2026-11-23": 4, "50.0.0.5": 16, "1.1": 10, "8": 10} {
		assert.Equal(t, want, f.admits(20, request("d", "v="+value)), value)
	}
	a := f.ask(request("d", "w=x"))
	assert.EqualValues(t, 2, a.GetStatuses()[0].GetCurrentLimit().GetUnitMultiplier().GetValue())
	assert.Equal(t, 14*24*3600.0, a.GetStatuses()[0].GetDurationUntilReset().AsDuration().Seconds())
	assert.Equal(t, 3, f.admits(3, request("d", "w=x")), "it is a shadow")
}

func TestAliasesAndMergeKeys(t *testing.T) {
	f := serve(t, `
domain: d
descriptors:
  - &five {key: a, rate_limit: &limit {unit: minute, requests_per_unit: 5}}
  - {<<: *five, key: b}
  - {key: c, rate_limit: {<<: *limit, requests_per_unit: 6}}
`)
	for d, want := range map[string]int{"a=x": 5, "b=x": 5, "c=x": 6} {
		assert.Equal(t, want, f.admits(9, request("d", d)), d)
	}
}

func TestSeveralFiles(t *testing.T) {
	c, differences, err := envoy.Parse(named(
		limited("unit: day, requests_per_unit: 1"),
		"domain: e\ndescriptors: [{key: a}]",
		"domain: d\ndescriptors: [{key: b, rate_limit: {unit: day, requests_per_unit: 1}}]"))
	require.NoError(t, err)
	assert.Equal(t, []int{2, 2}, []int{c.Domains(), c.Rules()})
	assert.Equal(t, `differs: 3.yaml:1:1: domain: "d" is in 1.yaml too: the files are read as one, as with MERGE_DOMAIN_CONFIG=true`,
		differences[len(differences)-1].String())

	_, _, err = envoy.Parse(named(limited("unit: day"), limited("unit: day")))
	require.ErrorContains(t, err, "envoy: 2.yaml:3:3: descriptors[0]: d.a is at 1.yaml:3:3 too")
	c, _, err = envoy.Parse(nil)
	require.NoError(t, err)
	assert.Zero(t, c.Domains())
}

func TestDifferences(t *testing.T) {
	_, differences, err := envoy.Parse(named(`
domain: d
descriptors:
  - key: a
    detailed_metric: true
    value_to_metric: true
    quota_mode: true
    metadata: {name: x}
    rate_limit: {unit: day}
  - {key: b, detailed_metric: false, quota_mode: false, rate_limit: {unit: second, requests_per_unit: 1, shadow_mode: true}}
  - {key: c, value: x*y, rate_limit: {unlimited: true}, unit: day}
  - {key: d*}
  - {key: e, value: x*, domain: x}
`))
	require.NoError(t, err)
	general := envoy.Differences()
	require.NotEmpty(t, general)
	assert.Equal(t, general, differences[:len(general)])
	var places []string
	for _, d := range differences[len(general):] {
		text := d.String()
		assert.NotContains(t, text, "%!")
		places = append(places, strings.Join(strings.SplitN(text, ": ", 4)[:3], " "))
	}
	assert.Equal(t, []string{
		"ignored 1.yaml:5:22 descriptors[0].detailed_metric",
		"ignored 1.yaml:6:22 descriptors[0].value_to_metric",
		"unsupported 1.yaml:7:17 descriptors[0].quota_mode",
		"unsupported 1.yaml:8:15 descriptors[0].metadata",
		"differs 1.yaml:9:17 descriptors[0].rate_limit.requests_per_unit",
		"ignored 1.yaml:10:106 descriptors[1].rate_limit.shadow_mode",
		"ignored 1.yaml:11:57 descriptors[2].unit",
		"differs 1.yaml:11:5 descriptors[2].value",
		"differs 1.yaml:12:11 descriptors[3].key",
		"ignored 1.yaml:13:25 descriptors[4].domain",
	}, places)
	for _, d := range general {
		assert.True(t, strings.HasPrefix(d.String(), string(envoy.Differs)+": "+d.Text))
	}
}

// The guide has the list as it is.
func TestTheGuideListsTheDifferences(t *testing.T) {
	guide, err := os.ReadFile("../../../docs/envoy.md")
	require.NoError(t, err)
	for _, d := range envoy.Differences() {
		assert.True(t, strings.Contains(string(guide), "- "+d.Text+"\n"), "docs/envoy.md does not have: %s", d.Text)
	}
}
