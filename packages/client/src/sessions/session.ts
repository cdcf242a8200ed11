import type { CoreEvent } from '../core/effects.js'
import type { Command } from '../core/inputs.js'
import type { LiveState } from '../core/live-state.js'
import type { Batch } from '../model/batch.js'
import type {
  CachedRead,
  LogKey,
  LogRecord,
  MessageRecord,
  MetaRecord,
  UnsentRecord,
} from '../model/records.js'
import type { MessageQuery } from '../ports/store.js'

/** The state that a tab knows: everything that is stored, without messages, and what is shown only. */
export interface ClientState {
  readonly meta: MetaRecord
  readonly logs: ReadonlyMap<LogKey, LogRecord>
  readonly unsent: ReadonlyMap<number, UnsentRecord>
  readonly cached: ReadonlyMap<string, CachedRead>
  readonly live: LiveState
}

/**
 * - `batch`: the state has this batch
 * - `live`: `state.live` has changed
 * - `reload`: anything may have changed, messages too; views read again
 */
export type StateChange =
  | { readonly type: 'batch'; readonly batch: Batch }
  | { readonly type: 'live' }
  | { readonly type: 'reload' }

/**
 * The client as one tab sees it, whether this tab leads or follows. Views are built on it, and
 * nothing else.
 */
export interface Session {
  /** Changed in place before listeners run; records are replaced, never modified. */
  readonly state: ClientState
  /** @returns ends the listening */
  subscribe(listener: (change: StateChange) => void): () => void
  /** Reads stored messages, newest first. */
  messages(query: MessageQuery): Promise<readonly MessageRecord[]>
  /**
   * Runs a command in the tab that leads, and again in the next one when that tab ends. The last
   * `watch`, `presence`, `onScreen` and `quotes` of each caller are repeated at every later leader.
   * @throws ClientError
   */
  execute(command: Command, options?: { readonly signal?: AbortSignal }): Promise<unknown>
  /** Listens to events of the server. @returns ends the listening */
  onEvent(listener: (event: CoreEvent) => void): () => void
}

/**
 * A {@link Session} with the life of its client. It exists from the first moment: its state is empty
 * until the store is loaded, and then changes by `reload`. Commands wait until then.
 */
export interface ClientSession extends Session {
  /** Connects, and stays connected until `disconnect`. A repeat does nothing. */
  connect(): void
  disconnect(): void
  /** Aborted when the client has ended, also by a logout in another tab; its reason is a ClientError. */
  readonly closed: AbortSignal
  /** Ends the client of this tab; what is stored stays. Later commands fail with `closed`. */
  close(): Promise<void>
  /** Ends the client in all tabs, and deletes what is stored. */
  destroy(): Promise<void>
}
