import { Core, type CoreOptions } from '../../src/core/core.js'
import type { CallOutcome, CoreContext } from '../../src/core/core-context.js'
import type { Effect } from '../../src/core/effects.js'
import type { Command, InputBody } from '../../src/core/inputs.js'
import type { ConnectionStatus } from '../../src/core/live-state.js'
import type { OpenedSession, Part } from '../../src/core/part.js'
import { createParts } from '../../src/core/parts.js'
import type { StoredState } from '../../src/ports/store.js'

/** A successful answer to session.open. */
export const openedSession: OpenedSession = {
  session_id: 1,
  user_id: 5,
  device_sn: 1,
  epoch: 'e1',
  pos: 'p1',
  server_time: 1_000_000,
  ping_ms: 25_000,
  max_frame: 65_536,
  max_in_flight: 2,
  transaction_ttl_ms: 86_400_000,
  sync: 'current',
}

const runId = 'bench'

export interface BenchOptions extends Partial<CoreOptions> {
  /** The part under test; default: none. */
  readonly part?: (context: CoreContext) => Part
  /** True: all parts of the core are there. */
  readonly isWhole?: boolean
  readonly state?: StoredState
}

/**
 * A core whose surroundings are the test: it sets the clock, fires timers and answers. Batches are
 * applied at once.
 */
export class LinkBench {
  readonly core: Core
  context!: CoreContext
  now = 1_000
  /** Effects since the last `take`. */
  effects: Effect[] = []
  /** All errors of the core. */
  readonly errors: unknown[] = []
  status: ConnectionStatus = { state: 'idle' }
  #action: (context: CoreContext) => void = () => {}
  readonly #timers = new Map<string, number>()

  constructor({ part = () => ({}), isWhole, state, ...options }: BenchOptions = {}) {
    this.core = new Core({
      appId: 'app',
      userId: 0,
      deviceGuid: null,
      platform: 6,
      userAgent: 'test',
      sdk: 'test',
      random: () => 0.5,
      isDurable: true,
      parts: (context) => {
        this.context = context
        return [
          ...(isWhole ? createParts(context) : [part(context)]),
          { command: (id) => this.#runs(id) },
        ]
      },
      ...options,
    })
    this.step({ type: 'start', state: state ?? { logs: [], unsent: [], cached: [] } })
  }

  /** The number of the connection that was opened last. */
  connection = 0

  step(input: InputBody): void {
    for (const effect of this.core.step({ now: this.now, ...input })) {
      this.effects.push(effect)
      if (effect.type === 'timer') this.#timers.set(effect.key, this.now + effect.ms)
      else if (effect.type === 'cancelTimer') this.#timers.delete(effect.key)
      else if (effect.type === 'connect') this.connection = effect.connection
      else if (effect.type === 'live') this.status = effect.live.connection
      else if (effect.type === 'error') this.errors.push(effect.error)
    }
    if (this.effects.some((each) => each.type === 'apply')) {
      this.effects = this.effects.filter((each) => each.type !== 'apply')
      this.step({ type: 'applied' })
    }
  }

  /** Returns the effects of a kind since the last call, and forgets all others. */
  take<Type extends Effect['type']>(type: Type): Extract<Effect, { readonly type: Type }>[] {
    const taken = this.effects.filter((each) => each.type === type)
    this.effects = []
    return taken as Extract<Effect, { readonly type: Type }>[]
  }

  /** Returns the frames that were sent since the last `take`, as values. */
  sent(): Record<string, unknown>[] {
    return this.take('send').map(({ text }) => JSON.parse(text) as Record<string, unknown>)
  }

  /** Lets time pass and fires the timers that are due, each in its time. */
  pass(ms: number): void {
    const end = this.now + ms
    for (;;) {
      const [next] = [...this.#timers].sort(([, a], [, b]) => a - b)
      if (!next || next[1] > end) break
      this.now = Math.max(this.now, next[1])
      this.#timers.delete(next[0])
      this.step({ type: 'timer', key: next[0] })
    }
    this.now = end
  }

  /** Lets the back-off pass. */
  retry(): void {
    this.pass(this.status.retryInMs ?? 0)
  }

  /** Lets time pass while no timer fires, as in a sleeping machine; then all fire that are due. */
  sleep(ms: number): void {
    this.now += ms
    this.pass(0)
  }

  frame(value: unknown): void {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    this.step({ type: 'frame', connection: this.connection, text })
  }

  end(code: number, reason = ''): void {
    this.step({ type: 'ended', connection: this.connection, code, reason })
  }

  /** Does the handshake of the last connection, and answers session.open. */
  open(session: Partial<OpenedSession> = {}): void {
    this.step({ type: 'opened', connection: this.connection })
    this.frame({
      id: 'open',
      code: 200,
      message: null,
      data: { ...openedSession, ...session },
    })
  }

  /** Connects with a token, and opens the session. */
  goOnline(session: Partial<OpenedSession> = {}): void {
    this.step({ type: 'connect' })
    this.step({ type: 'token', token: 'token 1' })
    this.open(session)
    this.run((context) => context.setSynced(true))
    this.effects = []
  }

  /** Runs what a part would do. */
  run(action: (context: CoreContext) => void): void {
    this.#action = action
    this.command(runId, { type: 'typing', conversationId: 1, isGroup: false })
  }

  command(id: string, command: Command): void {
    this.step({ type: 'command', id, command })
  }

  /** Calls an operation as a part does; the outcomes are appended to the list. */
  call(op: string, data: object = {}): { outcomes: CallOutcome[]; cancel: () => void } {
    const outcomes: CallOutcome[] = []
    let cancel = () => {}
    this.run((context) => {
      cancel = context.call(op, data, (outcome) => outcomes.push(outcome))
    })
    return { outcomes, cancel }
  }

  #runs(id: string): boolean {
    if (id !== runId) return false
    this.#action(this.context)
    return true
  }
}
