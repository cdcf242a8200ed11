/** Times that the devices measure, and the time of a send within a text. */
import type { RecordableHistogram } from 'node:perf_hooks'

/** Latencies in milliseconds. */
export interface Latencies {
  readonly count: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

const sentMark = Buffer.from('sent=')
const sentLength = 16

/** Returns a text of so many bytes that has the time of its send. */
export function timedText(bytes: number): string {
  return `sent=${nowMs().toFixed(3).padStart(sentLength, '0')} `.padEnd(bytes, 'x')
}

/** By a clock that all processes of the machine share. */
function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** Records the time since the send of the first timed text in an event, if it has one. */
export function recordSince(payload: Buffer, histogram: RecordableHistogram): void {
  const at = payload.indexOf(sentMark)
  if (at < 0) return
  const start = at + sentMark.length
  const sentAt = Number(payload.toString('latin1', start, start + sentLength))
  histogram.record(toMicroseconds(nowMs() - sentAt))
}

export function toMicroseconds(ms: number): number {
  return Math.max(1, Math.round(ms * 1_000))
}

/** Returns the figures of a histogram of microseconds; NaN without any. */
export function latencies(histogram: RecordableHistogram): Latencies {
  if (histogram.count === 0)
    return { count: 0, p50Ms: Number.NaN, p99Ms: Number.NaN, maxMs: Number.NaN }
  return {
    count: histogram.count,
    p50Ms: histogram.percentile(50) / 1_000,
    p99Ms: histogram.percentile(99) / 1_000,
    maxMs: histogram.max / 1_000,
  }
}
