import { failureOf } from '../errors.js'
import { emptyMeta } from '../model/records.js'
import { BatchBuilder } from './batch-builder.js'
import type { ActingFor, CallOutcome, CoreContext } from './core-context.js'
import type { Effect } from './effects.js'
import type { Command, Input } from './inputs.js'
import { CallCommands } from './link/call-commands.js'
import { Calls, type CallsHost } from './link/calls.js'
import { Link, type LinkHost, type LinkOptions } from './link/link.js'
import { jsonObject } from './link/wire-text.js'
import type { LiveState } from './live-state.js'
import { membersOf } from './logs/wire.js'
import { repeatTimer } from './outcomes.js'
import type { ServerEvent, OpenedSession, Part } from './part.js'
import { createParts } from './parts.js'

/** The client of one user as a deterministic state machine; the README of this folder shows its parts. */
export interface CoreMachine {
  /** Takes an input and returns what has to be done, in this order. */
  step(input: Input): readonly Effect[]
}

/** Settings of {@link Core}. */
export interface CoreOptions extends LinkOptions {
  /** Returns a random number: at least 0, below 1. The same numbers and inputs give the same effects. */
  random(): number
  /** False: the store is memory, because the durable one has failed. */
  readonly isDurable: boolean
  /** Replaces the parts, in tests. */
  readonly parts?: (context: CoreContext) => readonly Part[]
}

/** A timer that fires so much too late says that the machine was asleep. */
const lateMs = 5_000
/** The longest time of a timer of the platforms. */
const maxTimerMs = 2 ** 31 - 1

/** The core: gives each input to the parts, and collects their effects. */
export class Core implements CoreMachine, CoreContext, CallsHost, LinkHost {
  readonly random: () => number
  readonly #options: CoreOptions
  readonly #link: Link
  readonly #calls: Calls
  #parts: readonly Part[] = []
  #now = 0
  #effects: Effect[] = []
  #batch = new BatchBuilder(emptyMeta)
  #live: LiveState
  #isLiveChanged = false
  #session: OpenedSession | undefined
  /** When session.open was sent, and how long its answer took. */
  #openedAt = 0
  #openingMs = 0
  readonly #timers = new Map<string, { readonly due: number; readonly run: () => void }>()
  /** Callbacks of this step. */
  #later: (() => void)[] = []
  /** Callbacks of the batch that is being collected, and of the one that is being applied. */
  #afterNext: (() => void)[] = []
  #afterApply: (() => void)[] = []
  #phase: 'new' | 'idle' | 'applying' | 'stopped' = 'new'

  constructor(options: CoreOptions) {
    this.#options = options
    this.random = options.random
    this.#live = {
      connection: { state: 'idle' },
      userId: options.userId,
      token: options.token ?? '',
      online: [],
      typing: [],
      streams: {},
      uploads: {},
      isDurable: options.isDurable,
    }
    this.#link = new Link(this, this, options)
    this.#calls = new Calls(this)
  }

  get now(): number {
    return this.#now
  }

  get serverTime(): number {
    return this.#session ? this.#session.server_time + this.#now - this.#openedAt : 0
  }

  get earliestServerTime(): number {
    return this.serverTime - this.#openingMs
  }

  get me(): number {
    return this.#batch.meta.userId || this.#options.userId
  }

  get isOpen(): boolean {
    return this.#link.isOpen
  }

  get batch(): BatchBuilder {
    return this.#batch
  }

  get live(): LiveState {
    return this.#live
  }

  step(input: Input): readonly Effect[] {
    this.#effects = []
    if (this.#phase === 'stopped' || (this.#phase === 'new') !== (input.type === 'start')) return []
    this.#now = Math.max(this.#now, input.now)
    this.#guard(() => this.#take(input))
    this.#runLater()
    if (this.#isLiveChanged) this.emit({ type: 'live', live: this.#live })
    this.#isLiveChanged = false
    this.#applyNext()
    return this.#effects
  }

  emit(effect: Effect): void {
    this.#effects.push(effect)
  }

  after(key: string, ms: number, run: () => void): void {
    const time = Math.min(Math.max(Math.ceil(ms), 0), maxTimerMs)
    this.#timers.set(key, { due: this.#now + time, run })
    this.emit({ type: 'timer', key, ms: time })
  }

  cancel(key: string): void {
    if (this.#timers.delete(key)) this.emit({ type: 'cancelTimer', key })
  }

  isTimed(key: string): boolean {
    return this.#timers.has(key)
  }

  afterCommit(run: () => void): void {
    if (this.#batch.isChanged) this.#afterNext.push(run)
    else if (this.#phase === 'applying') this.#afterApply.push(run)
    else this.#later.push(run)
  }

  call(
    op: string,
    data: object,
    done: (outcome: CallOutcome) => void,
    options?: ActingFor,
  ): () => void {
    return this.#calls.call(op, data, done, options)
  }

  setLive(changes: Partial<LiveState>): void {
    this.#live = { ...this.#live, ...changes }
    this.#isLiveChanged = true
  }

  setSynced(isSynced: boolean): void {
    this.#link.setSynced(isSynced)
  }

  reset(): void {
    this.#batch.reset()
    this.#batch.setMeta({ pos: '', listCursor: '' })
    for (const part of this.#parts) part.reset?.()
  }

  /** Runs a callback later in this step. */
  later(run: () => void): void {
    this.#later.push(run)
  }

  send(text: string): void {
    this.#link.send(text)
  }

  unanswered(): void {
    this.#link.wakeup()
  }

  /** Link has opened a session. */
  opened(session: OpenedSession, sentAt: number): void {
    this.#session = session
    this.#openedAt = sentAt
    this.#openingMs = this.#now - sentAt
    const { userId, epoch } = this.#batch.meta
    const { user_id: me, device_sn: deviceSn } = session
    if ((epoch !== '' && epoch !== session.epoch) || session.sync === 'reset') this.reset()
    if (userId !== me || epoch !== session.epoch)
      this.#batch.setMeta({ userId: me, epoch: session.epoch })
    const { deviceSn: _former, ...live } = this.#live
    this.#live = { ...live, userId: me, ...(deviceSn !== undefined && { deviceSn }) }
    this.#isLiveChanged = true
    this.#calls.opened(session)
    for (const part of this.#parts) part.opened?.(session)
  }

  /** The session of Link has ended. */
  closed(): void {
    this.#calls.closed()
    for (const key of this.#timers.keys()) if (key.startsWith(repeatTimer)) this.cancel(key)
    for (const part of this.#parts) part.closed?.()
  }

  #take(input: Input): void {
    switch (input.type) {
      case 'start':
        this.#start(input)
        break
      case 'connect':
        this.#link.connect()
        break
      case 'disconnect':
        this.#link.disconnect()
        break
      case 'wakeup':
        this.#link.wakeup()
        break
      case 'token':
        this.#link.token(input.token)
        break
      case 'tokenFailed':
        this.#link.tokenFailed(input.failure)
        break
      case 'impossible':
        if (this.#link.isCurrent(input.connection)) this.#link.impossible(input.failure)
        break
      case 'opened':
        if (this.#link.isCurrent(input.connection)) this.#link.handshaken()
        break
      case 'frame':
        if (this.#link.isCurrent(input.connection)) this.#frame(input.text)
        break
      case 'ended':
        if (this.#link.isCurrent(input.connection)) this.#link.ended(input.code, input.reason)
        break
      case 'timer':
        this.#timer(input.key)
        break
      case 'applied':
        this.#applied()
        break
      case 'storeFailed':
        this.#link.disconnect()
        this.#phase = 'stopped'
        break
      case 'command':
        this.#command(input.id, input.command)
        break
      case 'cancel':
        for (const part of this.#parts) part.cancel?.(input.id)
        break
      default:
        for (const part of this.#parts) part.input?.(input)
    }
  }

  #start({ state }: Extract<Input, { readonly type: 'start' }>): void {
    this.#phase = 'idle'
    this.#batch = new BatchBuilder(state.meta ?? emptyMeta)
    this.setLive({ userId: this.me })
    const { parts = createParts } = this.#options
    this.#parts = [...parts(this), new CallCommands(this, () => this.#link.isWanted)]
    for (const part of this.#parts) part.start?.(state)
  }

  #frame(text: string): void {
    this.#link.heard()
    const frame = jsonObject(text)
    if (!frame) {
      // It may have been an event, so no later position may be kept.
      this.#link.broken(failureOf('bad_answer', 'a frame is no JSON object', true))
      return
    }
    const { id, event, data = {}, change, pos } = frame
    if (typeof id === 'string') this.#link.answer(frame)
    else if (id !== undefined) this.#calls.answer(frame)
    else if (this.isOpen || event === 'session.closing') {
      if (typeof event === 'string') this.#event(event, data, change)
      if (typeof pos === 'string' && this.isOpen) for (const part of this.#parts) part.pos?.(pos)
    }
  }

  #event(event: string, data: unknown, change: unknown): void {
    const members = membersOf(data)
    if (event === 'session.closing') this.#link.closing(members)
    const isNumbered = Number.isSafeInteger(change)
    const frame: ServerEvent = {
      event,
      data: members,
      ...(isNumbered && { change: change as number }),
    }
    for (const part of this.#parts) part.event?.(frame)
    this.emit({ type: 'event', event: { kind: event, data: members } })
  }

  #command(id: string, command: Command): void {
    try {
      if (this.#parts.some((part) => part.command?.(id, command) === true)) return
      throw new Error(`no command ${command.type}`)
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      this.emit({ type: 'failure', id, failure: failureOf('invalid_argument', message) })
    }
  }

  #timer(key: string): void {
    const timer = this.#timers.get(key)
    if (!timer) return
    this.#timers.delete(key)
    if (this.#now - timer.due > lateMs) this.#link.wakeup()
    timer.run()
  }

  #applied(): void {
    if (this.#phase !== 'applying') return
    this.#phase = 'idle'
    this.#later.push(...this.#afterApply)
    this.#afterApply = []
  }

  #applyNext(): void {
    if (this.#phase !== 'idle' || !this.#batch.isChanged) return
    this.#phase = 'applying'
    this.#afterApply = this.#afterNext
    this.#afterNext = []
    this.emit({ type: 'apply', batch: this.#batch.take() })
  }

  #runLater(): void {
    while (this.#later.length > 0) {
      const later = this.#later
      this.#later = []
      for (const run of later) this.#guard(run)
    }
  }

  /** A part that throws has not taken a frame or an answer: the client connects anew and syncs. */
  #guard(run: () => void): void {
    try {
      run()
    } catch (error) {
      this.emit({ type: 'error', error })
      const text = error instanceof Error ? error.message : String(error)
      this.#link.broken(failureOf('bad_answer', text, true))
    }
  }
}
