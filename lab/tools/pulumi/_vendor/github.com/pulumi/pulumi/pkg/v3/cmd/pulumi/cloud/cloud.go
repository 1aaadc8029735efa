// Package cloud stands for the client of Pulumi's own service, which no lab talks to.
//
// The real one compiles an OpenAPI library for `pulumi api`, a fifth of the whole build.
package cloud

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/pulumi/pulumi/pkg/v3/backend/httpstate/client"
)

// ErrLeftOut is the answer of every command that needs Pulumi's own service.
var ErrLeftOut = errors.New("this pulumi was built for the lab and has no client of Pulumi Cloud's API; install pulumi")

// APIError is a failure with an exit code of its own.
type APIError struct {
	ExitCode int
	Silent   bool
}

func (e *APIError) Error() string { return ErrLeftOut.Error() }

// ResolvedContext is an account of Pulumi's own service.
type ResolvedContext struct {
	Client   *client.Client
	OrgName  string
	LoggedIn bool
}

// ResolveContext always fails.
func ResolveContext(context.Context) (*ResolvedContext, error) { return nil, ErrLeftOut }

// NewAPICmd is `pulumi api`, which always fails.
func NewAPICmd() *cobra.Command {
	return &cobra.Command{
		Use:    "api",
		Hidden: true,
		RunE:   func(*cobra.Command, []string) error { return ErrLeftOut },
	}
}
