// Package ui has no pages: they are made by a JavaScript build whose result is not in the module.
package ui

import "github.com/prometheus/common/route"

// Register leaves the router as it is; the API, metrics and health checks are registered elsewhere.
func Register(*route.Router) {}
