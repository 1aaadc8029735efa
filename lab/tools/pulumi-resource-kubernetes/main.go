// Command pulumi-resource-kubernetes is Pulumi's Kubernetes provider.
//
// The module's own command does not compile: two files that it embeds are generated, and not in the module.
// What they are generated from is; the build puts those files beside this one.
package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"

	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"
	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/version"
)

//go:embed schema.json
var schema []byte

//go:embed terraform-mapping.json
var mapping []byte

func main() {
	if len(os.Args) > 1 && os.Args[1] == "--version" {
		fmt.Println(version.Version)
		return
	}
	// The schema lacks its version; the first brace opens the object that the version belongs to.
	versioned := bytes.Replace(schema, []byte("{"), []byte(`{"version": "`+version.Version+`",`), 1)
	provider.Serve("kubernetes", version.Version, versioned, mapping)
}
