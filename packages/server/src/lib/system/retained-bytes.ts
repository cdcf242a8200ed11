/** The objects around a chunk: its Buffer, the ArrayBuffer below, and the entry in a list. */
export const chunkObjectBytes = 300

/** The bytes of memory that a chunk keeps alive: a slice keeps the whole buffer that it is a part of. */
export function retainedBytes({ buffer }: Buffer): number {
  return buffer.byteLength + chunkObjectBytes
}

/** Returns the chunk, or a copy of one that is less than half of the memory that it keeps alive. */
export function compacted(chunk: Buffer): Buffer {
  if (chunk.length * 2 >= chunk.buffer.byteLength) return chunk
  const copy = Buffer.allocUnsafeSlow(chunk.length)
  chunk.copy(copy)
  return copy
}
