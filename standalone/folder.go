package standalone

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/prometheus/prometheus/tsdb/fileutil"
)

// folder is the data folder: checkpoint/ of the Collector's components and
// metrics/ of the time series database, under one lock.
type folder struct {
	path string
	lock fileutil.Releaser
}

func openFolder(path string) (*folder, error) {
	if err := os.MkdirAll(path, 0o750); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	lock, _, err := fileutil.Flock(filepath.Join(path, "lock"))
	if err != nil {
		if _, statErr := os.Stat(filepath.Join(path, "lock")); statErr != nil {
			return nil, fmt.Errorf("data folder %s cannot be written: %w", path, err)
		}
		return nil, fmt.Errorf("data folder %s is in use by another sloctl up (%w): stop that one, or name another folder with --data", path, err)
	}
	return &folder{path: path, lock: lock}, nil
}

func (f *folder) metrics() string    { return filepath.Join(f.path, "metrics") }
func (f *folder) checkpoint() string { return filepath.Join(f.path, "checkpoint") }
func (f *folder) close() error       { return f.lock.Release() }
