import type { ClientOptions } from '../../src/api.js'
import type { CoreEvent } from '../../src/core/effects.js'
import type { LiveState } from '../../src/core/live-state.js'
import { fetchUpload } from '../../src/node/fetch-upload.js'
import { connectNodeSocket } from '../../src/node/node-socket.js'
import type { Clock } from '../../src/ports/clock.js'
import type { Store } from '../../src/ports/store.js'
import type { CommandOutcome, Leader } from '../../src/runtime/leader.js'
import { type LeaderPorts, leaderStarter } from '../../src/runtime/leader-runtime.js'
import { memoryStore } from '../../src/stores/memory-store.js'

/** A clock on which everything takes a part of the time. */
export function fastClock(speed: number): Clock {
  return {
    now: () => performance.now() * speed,
    wallTime: () => Date.now(),
    random: () => 0.5,
    after(ms, run) {
      const timer = setTimeout(run, ms / speed)
      return () => clearTimeout(timer)
    },
  }
}

export interface TestLeaderOptions {
  readonly url: string
  readonly clock?: Clock
  readonly token?: ClientOptions['token']
  readonly ports?: Partial<LeaderPorts>
  readonly store?: Store
  readonly onEvent?: (event: CoreEvent) => void
}

/** The runtime of a leader on the ports of Node, and what it has told its listener. */
export class TestLeader implements Disposable {
  readonly leader: Leader
  readonly errors: unknown[] = []
  readonly outcomes = new Map<string, CommandOutcome>()
  readonly failures: string[] = []
  /** All states of the connection, in order. */
  readonly states: string[] = []
  /** Connections that were tried. */
  connections = 0
  live!: LiveState

  constructor({ url, clock, token, ports = {}, onEvent, ...options }: TestLeaderOptions) {
    const { store = memoryStore() } = options
    const { connect = connectNodeSocket } = ports
    const start = leaderStarter(
      {
        url,
        appId: 'app',
        token: token ?? (() => 'token'),
        onError: (error) => this.errors.push(error),
      },
      {
        clock: clock ?? fastClock(1),
        upload: fetchUpload,
        wakeups: { listen: () => () => {} },
        platform: 'unknown',
        ...ports,
        connect: (address, listener) => {
          this.connections++
          return connect(address, listener)
        },
      },
    )
    this.leader = start({
      state: { logs: [], unsent: [], cached: [] },
      store,
      generation: 0,
      listener: {
        committed: () => {},
        live: (live) => {
          this.live = live
          const { state } = live.connection
          if (this.states.at(-1) !== state) this.states.push(state)
        },
        event: (event) => onEvent?.(event),
        done: (id, outcome) => this.outcomes.set(id, outcome),
        failed: (failure) => this.failures.push(failure),
      },
    })
  }

  [Symbol.dispose](): void {
    this.leader.stop()
  }
}
