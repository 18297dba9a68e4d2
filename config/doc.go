// Package config reads the configuration of a registry from YAML:
//
//	default: {limits: 1/s}
//	services:
//	  openai:
//	    preset: openai/tier1
//	    share: 0.5          # half of the quota is somebody else's
//	  ols:
//	    limits: 4/s, 8 concurrent
//	    hosts:
//	      "*": {limits: 1/s}
//
// The keys are those of registry.Config. schema.json describes them for editors
// and validators, as a JSON Schema of the draft 2020-12; it is generated from the
// struct. An editor with a YAML language server finds it by a comment:
//
//	# yaml-language-server: $schema=schema.json
//
// It is a module of its own: a YAML parser never reaches a user of the core who
// does not read YAML.
package config

//go:generate go run ./internal/schemagen -o schema.json
