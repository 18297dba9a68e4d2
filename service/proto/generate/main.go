// Command generate writes the Go code of the .proto files of headrace.ratelimit.v1 into package ratelimitpb. The
// generators are tools of this module, which pins their versions; protoc is not needed.
//
//	cd service/proto/generate && go run .
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// files are relative to the folder proto.
func files() []string {
	return []string{"headrace/ratelimit/v1/ratelimit.proto", "headrace/ratelimit/v1/store.proto"}
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	code, err := generate(ctx)
	if err != nil {
		return err
	}
	for name, text := range code {
		if err := os.WriteFile(filepath.Join("..", "..", "ratelimitpb", name), []byte(text), 0o644); err != nil { //nolint:gosec // source code
			return err
		}
	}
	return nil
}

// generate returns the generated files by name.
func generate(ctx context.Context) (map[string]string, error) {
	c := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{".."}}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	compiled, err := c.Compile(ctx, files()...)
	if err != nil {
		return nil, err
	}
	request := &pluginpb.CodeGeneratorRequest{
		FileToGenerate: files(),
		Parameter:      new("module=github.com/headrace/headrace/service/ratelimitpb"),
	}
	seen := map[string]bool{}
	for _, f := range compiled {
		request.ProtoFile = add(request.ProtoFile, f, seen)
	}
	in, err := proto.Marshal(request)
	if err != nil {
		return nil, err
	}
	code := map[string]string{}
	for _, plugin := range []string{"protoc-gen-go", "protoc-gen-go-grpc"} {
		cmd := exec.CommandContext(ctx, "go", "tool", plugin) //nolint:gosec // a name of the list above
		cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", plugin, err)
		}
		var response pluginpb.CodeGeneratorResponse
		if err := proto.Unmarshal(out, &response); err != nil {
			return nil, fmt.Errorf("%s: %w", plugin, err)
		}
		if response.Error != nil {
			return nil, errors.New(plugin + ": " + response.GetError())
		}
		for _, f := range response.GetFile() {
			code[f.GetName()] = f.GetContent()
		}
	}
	return code, nil
}

// add appends f behind the files that it imports, each once.
func add(list []*descriptorpb.FileDescriptorProto, f protoreflect.FileDescriptor, seen map[string]bool) []*descriptorpb.FileDescriptorProto {
	if seen[f.Path()] {
		return list
	}
	seen[f.Path()] = true
	for i := range f.Imports().Len() {
		list = add(list, f.Imports().Get(i).FileDescriptor, seen)
	}
	return append(list, protoutil.ProtoFromFileDescriptor(f))
}
