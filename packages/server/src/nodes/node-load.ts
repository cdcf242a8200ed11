import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { NodeFigure } from './node-figures.js'

/** Figures that a node reports with each heartbeat, of the time since the last one. */
export interface LoadFigures {
  /** Open sessions. */
  readonly connections: number
  readonly sendsPerSecond: number
  /** The longest time for which one piece of work held all others up. */
  readonly lagMs: number
  readonly bus: string
  readonly memoryBytes: number
}

export interface LoadSources {
  connections(): number
  /** Stored messages since the start. */
  messages(): number
  isBusConnected(): boolean
}

const resolutionMs = 20

/** Measures the load of the process between two heartbeats. */
export class NodeLoad implements NodeFigure<LoadFigures> {
  readonly #delay = monitorEventLoopDelay({ resolution: resolutionMs })
  #at = performance.now()
  #messages = 0

  constructor(private readonly sources: LoadSources) {}

  own(): LoadFigures {
    this.#delay.enable()
    const { connections, messages, isBusConnected } = this.sources
    const now = performance.now()
    const stored = messages()
    const seconds = Math.max(1, now - this.#at) / 1_000
    const figures = {
      connections: connections(),
      sendsPerSecond: Math.round((stored - this.#messages) / seconds),
      lagMs: Math.max(0, Math.round(this.#delay.max / 1e6) - resolutionMs),
      bus: isBusConnected() ? 'connected' : 'cut off',
      memoryBytes: process.memoryUsage.rss(),
    }
    this.#delay.reset()
    this.#at = now
    this.#messages = stored
    return figures
  }
}
