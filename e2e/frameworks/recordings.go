package frameworks

import (
	"path/filepath"

	"github.com/agentslo/agentslo/truth"
)

// Recordings lists what is in testdata of a checkout. File names are relative
// to that folder.
func Recordings(root string) ([]truth.Entry, error) {
	return readIndex(filepath.Join(root, folder))
}
