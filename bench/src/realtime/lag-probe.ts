/**
 * Measures the lag of the event loop of the process that loads it by `--import`: by how much timers
 * of 2 ms are late. Each GET returns the figures since the last one.
 */
import { createServer } from 'node:http'
import { createHistogram } from 'node:perf_hooks'
import { isMainThread } from 'node:worker_threads'

const port = Number(process.env.BENCH_LAG_PORT)
const intervalMs = 2

/** Delays of the event loop of the service. */
export interface LagFigures {
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

if (isMainThread && port > 0) {
  const histogram = createHistogram()
  let last = performance.now()
  setInterval(() => {
    const now = performance.now()
    histogram.record(Math.max(1, Math.round((now - last - intervalMs) * 1_000)))
    last = now
  }, intervalMs).unref()
  createServer((_, response) => {
    const figures: LagFigures = {
      p50Ms: histogram.percentile(50) / 1_000,
      p99Ms: histogram.percentile(99) / 1_000,
      maxMs: histogram.max / 1_000,
    }
    histogram.reset()
    response.end(JSON.stringify(figures))
  })
    // Processes that the service starts load the probe too.
    .on('error', () => {})
    .listen(port, '127.0.0.1')
    .unref()
}
