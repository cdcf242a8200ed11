import type { Clock } from '../ports/clock.js'
import type { Tabs } from '../ports/tabs.js'
import type { ChannelMessage } from './channel.js'
import type { PendingCommand } from './pending-commands.js'
import type { Role, RoleContext } from './role.js'

/** Dependencies of a follower beyond the context of its tab. */
export interface FollowingOptions {
  readonly tabs: Tabs
  readonly clock: Clock
  /** The leader does not answer while the user sees this tab. */
  readonly steal: () => void
  readonly storeFailed: (error: unknown) => void
}

/** The time in which a leader has to answer; also between two questions. */
const answerMs = 5_000
/** A timer that fires so much later was held up, as the leader may have been. */
const lateMs = 2_000
/** Messages that wait for a reload. When more come, all are dropped and the leader is asked again. */
const maxInbox = 1_000

/** Follows the tab that leads: applies its batches in order, and hands commands over to it. */
export class FollowingRole implements Role {
  readonly #context: RoleContext
  readonly #options: FollowingOptions
  #generation = 0
  #isStopped = false
  #isReloading = false
  /** Messages of leaders that came during a reload. */
  #inbox: ChannelMessage[] = []
  #isOverflown = false
  /** When the question was asked that has no answer; undefined: none is open. */
  #askedAt: number | undefined
  #cancelTimer = () => {}
  readonly #endWatch: () => void

  constructor(context: RoleContext, options: FollowingOptions) {
    this.#context = context
    this.#options = options
    this.#endWatch = options.tabs.watch((change) => {
      if (change !== 'visible') return
      context.post({ type: 'visible' })
      this.#ask()
    })
    this.#ask()
  }

  execute(command: PendingCommand): void {
    this.#send(command)
    if (this.#askedAt === undefined) this.#ask()
  }

  cancel(id: string): void {
    this.#context.post({ type: 'cancel', id })
  }

  wantedChanged(): void {
    if (this.#context.isWanted()) this.#context.post({ type: 'connect' })
    this.#ask()
  }

  stop(): void {
    this.#isStopped = true
    this.#cancelTimer()
    this.#endWatch()
  }

  receive(message: ChannelMessage): void {
    if (message.type === 'starting') this.#heard()
    if (!('generation' in message) || message.generation < this.#generation) return
    this.#heard()
    if (this.#isReloading) {
      if (this.#inbox.push(message) > maxInbox) {
        this.#inbox = []
        this.#isOverflown = true
      }
      return
    }
    try {
      this.#take(message)
    } catch (error) {
      this.#context.onError(error)
      void this.#reload()
    }
  }

  #take(message: ChannelMessage): void {
    const { commands, state } = this.#context
    if (!('generation' in message) || message.generation < this.#generation) return
    const isNewLeader = message.generation > this.#generation
    if (isNewLeader) this.#follow(message.generation)
    const isOther = (commit: number) =>
      isNewLeader ? commit !== state.commit : commit > state.commit
    switch (message.type) {
      case 'batch':
        if (message.batch.meta.commit === state.commit + 1) state.apply(message.batch)
        else if (isOther(message.batch.meta.commit)) void this.#reload()
        break
      case 'live':
        state.setLive(message.live)
        break
      case 'event':
        state.event(message.event)
        break
      case 'here':
        if (isOther(message.commit)) void this.#reload()
        state.setLive(message.live)
        for (const command of commands.of(message.missing)) this.#send(command)
        break
      case 'taken':
        commands.taken(message.id)
        break
      case 'done':
        commands.settle(message.id, message.outcome)
    }
  }

  #send({ id, command }: PendingCommand): void {
    try {
      this.#context.post({ type: 'command', id, command })
    } catch (error) {
      const message = `the command cannot be sent to another tab: ${String(error)}`
      this.#context.commands.fail(id, 'invalid_argument', message)
    }
  }

  /** Another tab leads from now on. */
  #follow(generation: number): void {
    this.#generation = generation
    for (const command of this.#context.commands.forNewLeader()) this.#send(command)
    this.#ask()
  }

  /** Reads the store, then the messages that came in that time. */
  async #reload(): Promise<void> {
    if (this.#isReloading) return
    this.#isReloading = true
    try {
      const stored = await this.#context.store.load()
      if (this.#isStopped) return
      this.#context.state.reload(stored)
    } catch (error) {
      if (!this.#isStopped) this.#options.storeFailed(error)
      return
    }
    this.#isReloading = false
    for (const message of this.#inbox.splice(0)) this.receive(message)
    if (this.#isOverflown) this.#ask()
    this.#isOverflown = false
  }

  #heard(): void {
    this.#askedAt = undefined
  }

  #ask(): void {
    const { commands, isWanted, post } = this.#context
    const { clock, tabs } = this.#options
    const now = clock.now()
    this.#askedAt = now
    post({ type: 'ask', pending: commands.ids, isWanted: isWanted() })
    this.#cancelTimer()
    this.#cancelTimer = clock.after(answerMs, () => {
      const isLate = clock.now() - now > answerMs + lateMs
      const isUnanswered = this.#askedAt !== undefined
      if (isUnanswered && tabs.isVisible() && !isLate) this.#options.steal()
      else if (isUnanswered || tabs.isVisible() || commands.ids.length > 0) this.#ask()
    })
  }
}
