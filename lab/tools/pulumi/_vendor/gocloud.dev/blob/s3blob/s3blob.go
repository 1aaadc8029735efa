// Package s3blob registers no driver, so that s3:// is answered as a scheme that is not known.
package s3blob
