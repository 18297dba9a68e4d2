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
// The keys are those of registry.Config. schema.json is their JSON Schema, draft
// 2020-12. An editor with a YAML language server finds it by a comment:
//
//	# yaml-language-server: $schema=schema.json
//
// Programs that do not import this module do not depend on a YAML parser. The guide
// is docs/registry.md.
package config

//go:generate go run ./internal/schemagen -o schema.json
