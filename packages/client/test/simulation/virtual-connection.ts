/** A connection on a network that delays, cuts, and swallows frames. */
import type { Random } from '../../../server/test/support/random.js'
import type { Agenda } from './agenda.js'
import type { ModelSession, SessionLink } from './model/model-session.js'

/** The end of the client. */
export interface ConnectionEnd {
  opened(): void
  frame(text: string): void
  ended(code: number, reason: string): void
}

export interface Network {
  readonly agenda: Agenda
  readonly random: Random
  /** @returns the session at the server; undefined: no connection comes about */
  accept(link: SessionLink): ModelSession | undefined
}

/** Time until the server notices that a client says nothing any more. */
const noPongMs = 60_000

export class VirtualConnection implements SessionLink {
  /** Frames to the client until the connection is cut. */
  cutAfter = Number.POSITIVE_INFINITY
  /** True: nothing arrives any more, and neither side notices. */
  isSilent = false
  #session: ModelSession | undefined
  #isEnded = false
  #upAt = 0
  #downAt = 0

  constructor(
    readonly owner: string,
    private readonly network: Network,
    private readonly client: ConnectionEnd,
  ) {
    network.agenda.after(this.#delay(), () => this.#connect())
  }

  get isEnded(): boolean {
    return this.#isEnded
  }

  get session(): ModelSession | undefined {
    return this.#session
  }

  #connect(): void {
    if (this.#isEnded) return
    this.#session = this.network.accept(this)
    if (this.#session) this.client.opened()
    else this.#end(1006, '')
  }

  /** Sends a text to the server. */
  send(text: string): void {
    this.#upAt = Math.max(this.#upAt, this.network.agenda.now + this.#delay())
    this.network.agenda.after(this.#upAt - this.network.agenda.now, () => {
      if (!this.isSilent) this.#session?.receive(text)
    })
  }

  /** The client wants nothing more to do with it. */
  abandon(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.network.agenda.after(this.isSilent ? noPongMs : this.#delay(), () => this.#session?.end())
  }

  frame(text: string): void {
    if (this.cutAfter-- <= 0) {
      this.cut()
      return
    }
    this.#down(() => this.client.frame(text))
  }

  close(code: number, reason: string): void {
    this.#down(() => this.#end(code, reason))
  }

  /** @param isNoticed the client notices; default: unless nothing arrives any more */
  cut(isNoticed = !this.isSilent): void {
    if (this.#isEnded) return
    this.isSilent = true
    const session = this.#session
    this.network.agenda.after(this.#delay(), () => session?.end())
    if (isNoticed) this.network.agenda.after(this.#delay(), () => this.#end(1006, ''))
  }

  #down(run: () => void): void {
    this.#downAt = Math.max(this.#downAt, this.network.agenda.now + this.#delay())
    this.network.agenda.after(this.#downAt - this.network.agenda.now, () => {
      if (!this.#isEnded && !this.isSilent) run()
    })
  }

  #end(code: number, reason: string): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.client.ended(code, reason)
  }

  #delay(): number {
    const { random } = this.network
    return random.chance(0.03) ? random.integer(200, 2_000) : random.integer(1, 12)
  }
}
