// Package config reads the configuration of a registry from YAML:
//
//	default: {limits: 1/s}
//	guards:
//	  openai:
//	    preset: openai/tier1
//	    share: 0.5          # half of the quota is for another program
//	  crawl: {limits: 20/s}
//	  crawl/*: {limits: bucket 2/s burst 5}
//
// The keys are those of registry.Config. schema.json describes them for editors
// and validators, as a JSON Schema of the draft 2020-12; it is generated from the
// struct. An editor with a YAML language server finds it by a comment:
//
//	# yaml-language-server: $schema=schema.json
//
// It is a module of its own, so that programs that read no YAML do not depend on
// a YAML parser.
package config

//go:generate go run ./internal/schemagen -o schema.json
