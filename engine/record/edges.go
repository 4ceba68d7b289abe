package record

// Upper edges in tokens of the histogram bins, all inclusive: a value on an edge belongs to the bin below it. The last bin of each
// histogram is open. docs/records.md says what they count. The tail splits the open bin, since vLLM's default chunk is 8192 tokens.
var (
	contextEdges   = [ContextBins - 1]int64{128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072}
	chunkEdges     = [ChunkBins - 1]int64{16, 32, 64, 128, 256, 512, 1024, 2048}
	chunkTailEdges = [ChunkTailBins - 1]int64{4096, 8192, 16384}
)

// ContextEdges returns the upper edges of the context-length bins, in tokens.
func ContextEdges() [ContextBins - 1]int64 { return contextEdges }

// ChunkEdges returns the upper edges of the chunk-size bins, in tokens.
func ChunkEdges() [ChunkBins - 1]int64 { return chunkEdges }

// ChunkTailEdges returns the upper edges of the bins that split the last chunk-size bin, in tokens.
func ChunkTailEdges() [ChunkTailBins - 1]int64 { return chunkTailEdges }
