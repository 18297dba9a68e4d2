package config_test

import (
	"fmt"

	"github.com/headrace/headrace/config"
	"github.com/headrace/headrace/registry"
)

// A file becomes a registry.
func ExampleLoad() {
	c, err := config.Load("testdata/example.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	reg, err := registry.New(c)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(reg.Names())
	fmt.Println(reg.For("crawl", "www.example.net").Policy().Limits)
	// Output:
	// [bioportal crawl crawl/example.org ols openai]
	// bucket 2/s burst 5
}

// The error for a misspelt key has its place, and what may have been meant.
func ExampleParse() {
	_, err := config.Parse([]byte(`guards:
  ols:
    limts: 4/s
    law: mesured
`))
	fmt.Println(err)
	// Output:
	// registry: line 3:5: guards.ols.limts: the key is unknown: did you mean limits?
	// registry: line 4:10: guards.ols.law: "mesured" is not a law: did you mean measured?
}
