package exporter

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cespare/xxhash/v2"
	"go.uber.org/zap"

	"github.com/agentslo/agentslo/exporter/internal/series"
)

// The checkpoint is written at a clean shutdown and deleted when it is read. A
// process that is killed leaves none, so that counters older than what was
// scraped never come back: the loss is then a reset, which Prometheus knows.

const (
	checkpointKey     = "counters"
	checkpointVersion = 1
	checkpointHeader  = 4 + 8 // version and checksum, big endian
)

var errCheckpoint = errors.New("the checkpoint cannot be read")

func encodeCheckpoint(s *series.Snapshot) ([]byte, error) {
	body, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	data := make([]byte, 0, checkpointHeader+len(body))
	data = binary.BigEndian.AppendUint32(data, checkpointVersion)
	data = binary.BigEndian.AppendUint64(data, xxhash.Sum64(body))
	return append(data, body...), nil
}

func decodeCheckpoint(data []byte) (*series.Snapshot, error) {
	if len(data) < checkpointHeader {
		return nil, fmt.Errorf("%w: it is %d bytes long", errCheckpoint, len(data))
	}
	if v := binary.BigEndian.Uint32(data); v != checkpointVersion {
		return nil, fmt.Errorf("%w: it has version %d, this program reads version %d", errCheckpoint, v, checkpointVersion)
	}
	body := data[checkpointHeader:]
	if xxhash.Sum64(body) != binary.BigEndian.Uint64(data[4:]) {
		return nil, fmt.Errorf("%w: its checksum is wrong", errCheckpoint)
	}
	var s series.Snapshot
	if err := json.Unmarshal(body, &s); err != nil {
		return nil, fmt.Errorf("%w: %w", errCheckpoint, err)
	}
	return &s, nil
}

// restore takes up the checkpoint of an earlier process. One that cannot be
// read is reported, and the counters start at 0. It fails only if the
// checkpoint cannot be deleted and could come back.
func (e *sloExporter) restore(ctx context.Context) error {
	if e.storage == nil {
		return nil
	}
	data, err := e.storage.Get(ctx, checkpointKey)
	if err != nil {
		return fmt.Errorf("storage: reading the checkpoint: %w", err)
	}
	if data == nil {
		return nil
	}
	if err := e.storage.Delete(ctx, checkpointKey); err != nil {
		return fmt.Errorf("storage: deleting the checkpoint: %w", err)
	}
	snapshot, err := decodeCheckpoint(data)
	if err == nil {
		err = e.book.Restore(snapshot)
	}
	if err != nil {
		e.telemetry.ExporterAgentSloCheckpointErrors.Add(ctx, 1)
		e.settings.Logger.Error("counters start at 0", zap.Error(err))
		e.book = e.newBook()
	}
	return nil
}

// save writes the checkpoint.
func (e *sloExporter) save(ctx context.Context) error {
	if e.storage == nil {
		return nil
	}
	data, err := encodeCheckpoint(e.book.Snapshot())
	if err == nil {
		err = e.storage.Set(ctx, checkpointKey, data)
	}
	if err != nil {
		e.telemetry.ExporterAgentSloCheckpointErrors.Add(ctx, 1)
		return fmt.Errorf("storage: writing the checkpoint: %w", err)
	}
	return nil
}
