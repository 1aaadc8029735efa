// Package cloud stands for secrets managers of clouds; a lab's stack keeps its secrets under a passphrase.
package cloud

import (
	"encoding/json"
	"errors"

	"github.com/pulumi/pulumi/pkg/v3/secrets"
	"github.com/pulumi/pulumi/sdk/v3/go/common/workspace"
)

// Type is the name of these secrets managers in states.
const Type = "cloud"

// ErrLeftOut is the answer for every stack with a secrets manager of a cloud.
var ErrLeftOut = errors.New("this pulumi was built for the lab and knows passphrases only; install pulumi for secrets managers of clouds")

// EditProjectStack always fails.
func EditProjectStack(*workspace.ProjectStack, json.RawMessage) error { return ErrLeftOut }

// NewCloudSecretsManagerFromState always fails.
func NewCloudSecretsManagerFromState(json.RawMessage) (secrets.Manager, error) {
	return nil, ErrLeftOut
}

// NewCloudSecretsManager always fails.
func NewCloudSecretsManager(*workspace.ProjectStack, string, bool) (secrets.Manager, error) {
	return nil, ErrLeftOut
}
