import type { Batch } from '../model/batch.js'
import type { CoreEvent } from '../core/effects.js'
import type { Command } from '../core/inputs.js'
import type { Failure } from '../errors.js'
import type { LiveState } from '../core/live-state.js'
import type { Store, StoredState, StoreFailure } from '../ports/store.js'

/** The outcome of a command, as it crosses from tab to tab. */
export type CommandOutcome =
  | { readonly type: 'result'; readonly value: unknown }
  | { readonly type: 'failure'; readonly failure: Failure }

/** Receives what the leader does. None is called after {@link Leader.stop}. */
export interface LeaderListener {
  /** The batch is in the store. Called before the core continues, so before results that depend on it. */
  committed(batch: Batch): void
  live(live: LiveState): void
  event(event: CoreEvent): void
  done(id: string, outcome: CommandOutcome): void
  /** The store has failed. The leader has stopped and calls nothing more. */
  failed(failure: StoreFailure): void
}

/** Settings of a leader. */
export interface LeaderOptions {
  /** Everything that is stored. */
  readonly state: StoredState
  readonly store: Store
  /** The number that `store.lead()` has returned. */
  readonly generation: number
  /** The device of the session; absent: a session without a device. */
  readonly deviceGuid?: string
  /** The token of a first session, which has told the user; absent: the app is asked. */
  readonly token?: string
  /**
   * False: the store is memory, as the app has chosen or because the durable one has failed.
   * Default: true.
   */
  readonly isDurable?: boolean
  readonly listener: LeaderListener
}

/** The core at work in the tab that leads. A command with the ID of one in progress is ignored. */
export interface Leader {
  connect(): void
  disconnect(): void
  /** The user sees a tab again: the connection may be dead. */
  wakeup(): void
  execute(id: string, command: Command): void
  cancel(id: string): void
  /** Ends at once: closes the connection, timers and uploads, and writes no further batch. */
  stop(): void
}

/** Starts the core on its ports. */
export type StartLeader = (options: LeaderOptions) => Leader
