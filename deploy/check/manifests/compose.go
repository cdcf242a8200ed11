package main

import (
	"context"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

// printCompose loads files by the rules and the schema of Compose. Variables of the environment
// and .env files are left out.
func printCompose(ctx context.Context, paths []string) error {
	options, err := cli.NewProjectOptions(paths, cli.WithResolvedPaths(true))
	if err != nil {
		return err
	}
	project, err := options.LoadProject(ctx)
	if err != nil {
		return err
	}
	text, err := project.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(append(text, '\n'))
	return err
}
