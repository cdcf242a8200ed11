// Command manifests checks files of deploy/ with the code of the programs that read them:
//
//	manifests kubernetes FOLDER   kustomize's build of it, decoded strictly into Kubernetes' types
//	manifests compose FILE …      the files as Compose reads them together, as JSON on standard output
package main

import (
	"context"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: manifests kubernetes FOLDER | compose FILE …")
		os.Exit(2)
	}
	var err error
	switch os.Args[1] {
	case "kubernetes":
		err = checkKubernetes(os.Args[2])
	case "compose":
		err = printCompose(context.Background(), os.Args[2:])
	default:
		err = fmt.Errorf("unknown check %q", os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
