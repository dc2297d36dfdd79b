package standalone

import (
	"errors"
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
	// killed: the process before this one did not stop cleanly, so what only it
	// had in memory is lost.
	killed bool
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
	f := &folder{path: path, lock: lock}
	if _, err := os.Stat(f.running()); err == nil {
		f.killed = true
	}
	if err := os.WriteFile(f.running(), nil, 0o640); err != nil {
		return nil, errors.Join(fmt.Errorf("data folder %s cannot be written: %w", path, err), lock.Release())
	}
	return f, nil
}

// close gives the folder back, as cleanly stopped or not.
func (f *folder) close(clean bool) error {
	var err error
	if clean {
		err = os.Remove(f.running())
	}
	return errors.Join(err, f.lock.Release())
}

func (f *folder) metrics() string    { return filepath.Join(f.path, "metrics") }
func (f *folder) checkpoint() string { return filepath.Join(f.path, "checkpoint") }
func (f *folder) running() string    { return filepath.Join(f.path, "running") }
