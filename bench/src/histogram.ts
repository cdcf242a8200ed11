// Each power of two is cut into this many buckets, so that a figure is at most 1/64, 1.6 %, too high.
const bucketsPerOctave = 64
const octaves = 32

/** Counts durations by size in constant memory; whole microseconds up to more than an hour. */
export class Histogram {
  readonly #counts = new Uint32Array(bucketsPerOctave * octaves)
  #total = 0
  #max = 0

  record(ms: number): void {
    const us = Math.max(1, Math.round(ms * 1000))
    const bucket = bucketOf(us)
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1
    this.#total += 1
    if (ms > this.#max) this.#max = ms
  }

  get maxMs(): number {
    return this.#max
  }

  /** The duration that the given share of all, 0 to 1, does not exceed; NaN when nothing was recorded. */
  quantileMs(share: number): number {
    if (this.#total === 0) return Number.NaN
    const wanted = Math.ceil(share * this.#total)
    let bucket = 0
    for (let seen = this.#counts[0] ?? 0; seen < wanted; seen += this.#counts[bucket] ?? 0) bucket++
    return Math.min(upperEndOf(bucket) / 1000, this.#max)
  }
}

/** Values below 64 have a bucket each; above, the six bits after the leading one pick the bucket. */
function bucketOf(us: number): number {
  const shift = Math.max(0, 31 - Math.clz32(us) - 6)
  return Math.min(shift * bucketsPerOctave + (us >>> shift), bucketsPerOctave * octaves - 1)
}

function upperEndOf(bucket: number): number {
  if (bucket < 2 * bucketsPerOctave) return bucket
  const shift = Math.floor(bucket / bucketsPerOctave) - 1
  return (bucket - shift * bucketsPerOctave + 1) * 2 ** shift - 1
}
