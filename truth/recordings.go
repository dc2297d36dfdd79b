package truth

import (
	"archive/zip"
	"embed"
	"fmt"
	"io"
	"path"
	"sync"
)

//go:embed testdata/recorded
var archives embed.FS

// Recordings is the index of the recordings in testdata.
func Recordings() ([]Entry, error) {
	index, err := archives.Open("testdata/recorded/index.json")
	if err != nil {
		return nil, err
	}
	defer index.Close()
	return ReadIndex(index)
}

// Open gives one recorded file, such as strands-ts/ok-tool.jsonl: export
// requests as OTLP/JSON, one a line in the order of arrival.
func Open(file string) (io.ReadCloser, error) {
	framework := path.Dir(file)
	archive, err := archiveOf(framework)
	if err != nil {
		return nil, err
	}
	return archive.Open(file)
}

var (
	opened = map[string]*zip.Reader{}
	mutex  sync.Mutex
)

func archiveOf(framework string) (*zip.Reader, error) {
	mutex.Lock()
	defer mutex.Unlock()
	if archive := opened[framework]; archive != nil {
		return archive, nil
	}
	file, err := archives.Open("testdata/recorded/" + framework + ".zip")
	if err != nil {
		return nil, fmt.Errorf("recordings of %s: %w", framework, err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	archive, err := zip.NewReader(file.(io.ReaderAt), info.Size())
	if err != nil {
		return nil, fmt.Errorf("recordings of %s: %w", framework, err)
	}
	opened[framework] = archive
	return archive, nil
}
