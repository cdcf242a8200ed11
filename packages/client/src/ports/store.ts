import type { Batch } from '../model/batch.js'
import type {
  CachedRead,
  LogKey,
  LogRecord,
  MessageRecord,
  MetaRecord,
  UnsentRecord,
} from '../model/records.js'

/** Everything that is stored, without messages. */
export interface StoredState {
  /** Absent in an empty store. */
  readonly meta?: MetaRecord
  readonly logs: readonly LogRecord[]
  readonly unsent: readonly UnsentRecord[]
  readonly cached: readonly CachedRead[]
}

/** A part of a log: positions between two bounds, both included, newest first. */
export interface MessageQuery {
  readonly log: LogKey
  readonly fromSeq: number
  readonly toSeq: number
  readonly limit: number
}

/** The reading half of a store; followers have no more. */
export interface StoreReader {
  /** Reads all tables but messages, as of one commit. */
  load(): Promise<StoredState>
  /** Reads messages, newest first. */
  messages(query: MessageQuery): Promise<readonly MessageRecord[]>
}

/**
 * The durable state of one user. Every method may reject with {@link StoreError}; after that the
 * client continues in memory and says so.
 */
export interface Store extends StoreReader {
  /**
   * Takes the store over: later batches of an earlier generation are refused as `superseded`.
   * @returns the generation of the caller, greater than all before, and the commit number of the
   *   store, which only the caller moves from now on
   */
  lead(): Promise<{ readonly generation: number; readonly commit: number }>
  /** Resolves when no later caller of `lead` has taken the store over; else rejects as `superseded`. */
  check(generation: number): Promise<void>
  /** Applies a batch in one transaction, which also checks the generation. */
  apply(batch: Batch, generation: number): Promise<void>
  /**
   * Returns the text that names the installation: kept from the first call on.
   * @param known the one of a store that was emptied; absent: a new one is made
   */
  deviceGuid(known?: string): Promise<string>
  /** Listens to the browser closing the store, as it does when it empties it. Absent: none does. */
  watch?(listener: () => void): void
  /**
   * Lets other tabs delete the store or change its format while this tab sleeps; the next use opens it
   * again. Absent: this one is never in the way.
   */
  release?(): void
  /** Ends the use of the store; what is stored stays. */
  close(): void
  /** Deletes everything, as after a logout. Works on a closed store too. */
  destroy(): Promise<void>
}

/**
 * - `superseded`: another tab leads the store now
 * - `deleted`: another tab has deleted the store, as after a logout
 * - `quota`: the browser gives no more room
 * - `unavailable`: the store cannot be opened, read or written
 */
export type StoreFailure = 'superseded' | 'deleted' | 'quota' | 'unavailable'

/** A store did not do what it was asked to. */
export class StoreError extends Error {
  readonly failure: StoreFailure

  constructor(failure: StoreFailure, options?: ErrorOptions) {
    super(`the store of the client failed: ${failure}`, options)
    this.failure = failure
  }
}

/** Names the store of a user. */
export interface StoreName {
  readonly url: string
  readonly appId: string
  readonly userId: number
}

/** Opens the store of a user. */
export type OpenStore = (name: StoreName) => Promise<Store>
