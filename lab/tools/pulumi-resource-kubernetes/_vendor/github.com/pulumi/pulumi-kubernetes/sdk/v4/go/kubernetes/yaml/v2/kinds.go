// Package v2 registers objects of manifests, for the provider only.
//
// The SDK's own registers each kind with its Go type, for programs that read typed outputs. The provider reads none,
// and the types are 63 generated packages, four fifths of its build. Here all are untyped, under the same tokens.
package v2

import (
	"fmt"
	"strings"

	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/apiextensions"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// RegisterResource registers one object under its Pulumi type token.
func RegisterResource(ctx *pulumi.Context, apiVersion, kind, name string, props pulumi.Input,
	opts ...pulumi.ResourceOption) (pulumi.CustomResource, error) {
	if !strings.Contains(apiVersion, "/") {
		apiVersion = "core/" + apiVersion
	}
	var object apiextensions.CustomResource
	err := ctx.RegisterResource(fmt.Sprintf("kubernetes:%s:%s", apiVersion, kind), name, props, &object, opts...)
	return &object, err
}
