package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// wheelTag is how Python names a target: https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/.
// The binary is static, so it runs with any C library.
func (t target) wheelTag() string {
	cpu := map[string]map[string]string{
		"linux":   {"amd64": "x86_64", "arm64": "aarch64"},
		"darwin":  {"amd64": "x86_64", "arm64": "arm64"},
		"windows": {"amd64": "amd64", "arm64": "arm64"},
	}[t.OS][t.Arch]
	switch t.OS {
	case "linux":
		return "py3-none-manylinux_2_17_" + cpu + ".musllinux_1_1_" + cpu
	case "darwin":
		return "py3-none-macosx_12_0_" + cpu
	}
	return "py3-none-win_" + cpu
}

// wheel writes a package for pip that carries the binary of one target, in the format of
// https://packaging.python.org/en/latest/specifications/binary-distribution-format/.
func wheel(dir, version string, at time.Time, t target, binary []byte, about texts) error {
	name := "headrace-" + pythonVersion(version)
	info := name + ".dist-info/"
	var metadata bytes.Buffer
	fmt.Fprintf(&metadata, "Metadata-Version: 2.4\nName: headrace\nVersion: %s\nSummary: %s\nHome-page: %s\nLicense-Expression: %s\n",
		pythonVersion(version), summary, homepage, license)
	licenses := about.licenses("")
	for i := range licenses {
		fmt.Fprintf(&metadata, "License-File: %s\n", licenses[i].name)
	}
	fmt.Fprintf(&metadata, "Description-Content-Type: text/markdown\n\n%s", about.readme)
	var kind bytes.Buffer
	python, rest, _ := strings.Cut(t.wheelTag(), "-none-")
	fmt.Fprint(&kind, "Wheel-Version: 1.0\nGenerator: headrace\nRoot-Is-Purelib: false\n")
	for platform := range strings.SplitSeq(rest, ".") {
		fmt.Fprintf(&kind, "Tag: %s-none-%s\n", python, platform)
	}
	files := []file{
		{name: name + ".data/scripts/" + t.exe(), data: binary, exec: true},
		{name: info + "METADATA", data: metadata.Bytes()},
		{name: info + "WHEEL", data: kind.Bytes()},
	}
	files = append(files, about.licenses(info+"licenses/")...)
	var record bytes.Buffer
	for i := range files {
		sum := sha256.Sum256(files[i].data)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", files[i].name, base64.RawURLEncoding.EncodeToString(sum[:]), len(files[i].data))
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	files = append(files, file{name: info + "RECORD", data: record.Bytes()})
	return zipped(filepath.Join(dir, name+"-"+t.wheelTag()+".whl"), at, files)
}

// pythonVersion is a version as PEP 440 writes it: v1.2.0-rc.1 is 1.2.0rc1.
func pythonVersion(version string) string {
	number, pre, _ := strings.Cut(bare(version), "-")
	pre = strings.ReplaceAll(pre, ".", "")
	for from, to := range map[string]string{"alpha": "a", "beta": "b"} {
		pre = strings.Replace(pre, from, to, 1)
	}
	return number + pre
}
