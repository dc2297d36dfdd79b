package processor

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"hash/crc32"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.uber.org/zap"

	"github.com/agentslo/agentslo/processor/run"
)

// The checkpoint is written at a clean shutdown and taken away when it is
// read: after a kill there is none, and nothing old can come back.

const (
	checkpointKey     = "checkpoint"
	checkpointVersion = 3
)

// checkpoint is an engine's state as plain data.
type checkpoint struct {
	Assembler run.Snapshot
	Waiting   []*waitingRun
}

// Snapshot encodes open and waiting runs and the memory of finished ones.
func (e *Engine) Snapshot() ([]byte, error) {
	c := checkpoint{Assembler: e.assembler.Snapshot()}
	e.mu.Lock()
	for _, w := range e.waiting.runs {
		c.Waiting = append(c.Waiting, w)
	}
	e.mu.Unlock()
	var body bytes.Buffer
	if err := gob.NewEncoder(&body).Encode(&c); err != nil {
		return nil, fmt.Errorf("encoding the checkpoint: %w", err)
	}
	out := []byte{checkpointVersion}
	sum := crc32.ChecksumIEEE(body.Bytes())
	out = append(out, byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24))
	return append(out, body.Bytes()...), nil
}

// ErrCheckpoint says that a checkpoint cannot be read.
var ErrCheckpoint = errors.New("the checkpoint cannot be read")

// Restore takes up what Snapshot encoded. Waiting runs are matched anew: the
// SLO files may have changed.
func (e *Engine) Restore(data []byte) error {
	if len(data) < 5 {
		return fmt.Errorf("%w: it is %d bytes long", ErrCheckpoint, len(data))
	}
	if data[0] != checkpointVersion {
		return fmt.Errorf("%w: it has version %d, this program reads version %d", ErrCheckpoint, data[0], checkpointVersion)
	}
	sum := uint32(data[1]) | uint32(data[2])<<8 | uint32(data[3])<<16 | uint32(data[4])<<24
	if crc32.ChecksumIEEE(data[5:]) != sum {
		return fmt.Errorf("%w: its checksum is wrong", ErrCheckpoint)
	}
	var c checkpoint
	if err := gob.NewDecoder(bytes.NewReader(data[5:])).Decode(&c); err != nil {
		return fmt.Errorf("%w: %v", ErrCheckpoint, err)
	}
	e.assembler.Restore(c.Assembler)
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, w := range c.Waiting {
		r := w.Run
		w.file = e.files.Match(r.Service, r.Environment, r.Agent, func(name string) (string, bool) {
			v, ok := r.Attributes[name]
			return v, ok
		})
		if w.file == nil {
			continue
		}
		known := w.Pending[:0]
		for _, name := range w.Pending {
			if w.file.Objective(name) != nil {
				known = append(known, name)
			}
		}
		if w.Pending = known; len(known) > 0 {
			e.waiting.put(w)
		}
	}
	return nil
}

// restore opens the storage and takes up the checkpoint in it.
func (in *instance) restore(ctx context.Context, host component.Host) error {
	ext, ok := host.GetExtensions()[*in.config.Storage]
	if !ok {
		return fmt.Errorf("storage: there is no extension %s; add it to extensions and to service::extensions", in.config.Storage)
	}
	store, ok := ext.(storage.Extension)
	if !ok {
		return fmt.Errorf("storage: extension %s is not a storage extension", in.config.Storage)
	}
	client, err := store.GetClient(ctx, component.KindProcessor, in.id, "")
	if err != nil {
		return fmt.Errorf("storage: %w", err)
	}
	in.storage = client
	data, err := client.Get(ctx, checkpointKey)
	if err != nil {
		return fmt.Errorf("storage: reading the checkpoint: %w", err)
	}
	if data == nil {
		return nil
	}
	if err := client.Delete(ctx, checkpointKey); err != nil {
		return fmt.Errorf("storage: taking the checkpoint away: %w", err)
	}
	if err := in.engine.Restore(data); err != nil {
		in.logger.Error("starting without the open runs of the last time", zap.Error(err))
	}
	return nil
}

// save writes the checkpoint and closes the storage.
func (in *instance) save(ctx context.Context) error {
	data, err := in.engine.Snapshot()
	if err == nil {
		err = in.storage.Set(ctx, checkpointKey, data)
	}
	return errors.Join(err, in.storage.Close(ctx))
}
