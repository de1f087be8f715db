package host

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/taskq-host/taskq-host/abi"
)

// TestASlabIsRestoredWhateverWasWritten goes through all ways of restoring:
// small images, large ones with few and with many pages written, memory that
// grew behind the image.
func TestASlabIsRestoredWhateverWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pages := rapid.SampledFrom([]int{1, 4, 5, 40}).Draw(t, "pages of the image")
		s, err := newSlab(8 << 20)
		require.NoError(t, err)
		defer s.free()
		memory := s.grow(int64(pages) * abi.PageSize)
		for i := range memory {
			memory[i] = byte(i ^ i>>9)
		}
		i, err := newImage(memory)
		require.NoError(t, err)
		defer i.close()
		require.NoError(t, s.wear(i))
		require.Equal(t, i.bytes, s.grow(int64(len(i.bytes))))
		for range rapid.IntRange(1, 4).Draw(t, "attempts") {
			size := int64(pages+rapid.IntRange(0, 20).Draw(t, "grown by")) * abi.PageSize
			memory := s.grow(size)
			for range rapid.IntRange(0, 50).Draw(t, "writes") {
				at := rapid.Int64Range(0, size-1).Draw(t, "at")
				n := min(size-at, rapid.SampledFrom([]int64{1, 100, 300 << 10}).Draw(t, "bytes"))
				for j := range n {
					memory[at+j] ^= 0xa5
				}
			}
			require.True(t, s.restore(i))
			require.Equal(t, i.bytes, s.grow(int64(len(i.bytes))))
			require.True(t, s.zeroBehind(int64(len(i.bytes))))
		}
		require.False(t, s.zero(), "it can't become a plain one again")
	})
}

// TestAnInstanceThatDiffersIsNoticed changes the image behind a slot's back,
// as a restore that forgot something would look like.
func TestAnInstanceThatDiffersIsNoticed(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(s *slot){
		"memory":        func(s *slot) { s.family.image.bytes[100] ^= 1 },
		"memory's size": func(s *slot) { _, _ = s.instance.Memory().Grow(1) },
		"a global":      func(s *slot) { s.family.globals[0]++ },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, err := New(Options{
				CacheDir: filepath.Join(t.TempDir(), "cache"), Compile: CompileOptions{InProcess: true}, Pool: PoolOptions{Slots: 1, VerifyEvery: 1},
			})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, e.Close(context.Background())) })
			wasm, err := os.ReadFile(filepath.Join("..", "testdata", "wasm", "pristine.wasm"))
			require.NoError(t, err)
			m, err := e.Load(context.Background(), wasm)
			require.NoError(t, err)
			m.Run(context.Background(), Attempt{Limits: Limits{Memory: 2 << 20}})
			s := e.pool.oldest.Front().Value.(*slot)
			require.NoError(t, s.pristine())
			spoil(s)
			require.Error(t, s.pristine())
		})
	}
}

func TestAMismatchEndsThePoolingOfItsModule(t *testing.T) {
	t.Parallel()
	e, err := New(Options{
		CacheDir: filepath.Join(t.TempDir(), "cache"), Compile: CompileOptions{InProcess: true}, Pool: PoolOptions{Slots: 4, VerifyEvery: 1},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close(context.Background())) })
	wasm, err := os.ReadFile(filepath.Join("..", "testdata", "wasm", "pristine.wasm"))
	require.NoError(t, err)
	m, err := e.Load(context.Background(), wasm)
	require.NoError(t, err)
	a := Attempt{Limits: Limits{Memory: 2 << 20}}
	m.Run(context.Background(), a)
	s := e.pool.oldest.Front().Value.(*slot)
	s.memory.slab.grow(1 << 20)[(1<<20)-1] = 7
	s.memory.slab.used = int64(len(s.family.image.bytes)) // as if the growth had been forgotten
	e.pool.takeIdle(s.family, 0)
	e.pool.giveBack(s, true)
	require.EqualValues(t, 1, e.PoolStats().Mismatches)
	require.Zero(t, e.PoolStats().Idle)
	require.Equal(t, Succeeded, m.Run(context.Background(), a).Kind, "in an instance of its own")
	require.EqualValues(t, 1, e.PoolStats().Images)
}
