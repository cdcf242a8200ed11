import type { MessageQuery } from '../ports/store.js'
import type { Batch } from '../model/batch.js'
import type { Failure } from '../errors.js'
import type { LiveState } from './live-state.js'

/** An event for listeners of the app in all tabs, with the payload of the wire. */
export interface CoreEvent {
  readonly kind: string
  readonly data: unknown
}

/** Everything that the core asks of its environment, in this order. */
export type Effect =
  /** Applies a batch; the next one comes only after `applied`. */
  | { readonly type: 'apply'; readonly batch: Batch }
  /** Opens a connection; its inputs carry this number, which only grows. */
  | { readonly type: 'connect'; readonly connection: number }
  | { readonly type: 'send'; readonly connection: number; readonly text: string }
  | { readonly type: 'abandon'; readonly connection: number; readonly code?: number }
  /** Asks the app for a token; a request before it is aborted. */
  | { readonly type: 'token'; readonly isRefused: boolean }
  | { readonly type: 'cancelToken' }
  /** Sets a timer; one of the same key replaces it. */
  | { readonly type: 'timer'; readonly key: string; readonly ms: number }
  | { readonly type: 'cancelTimer'; readonly key: string }
  /** Reads messages of the store; answered by `messages`. */
  | { readonly type: 'readMessages'; readonly request: number; readonly query: MessageQuery }
  | {
      readonly type: 'upload'
      readonly transactionId: number
      readonly url: string
      readonly method: string
      readonly fields: Readonly<Record<string, string>>
      readonly blob: Blob
      readonly fileName: string
    }
  | { readonly type: 'cancelUpload'; readonly transactionId: number }
  /** The outcome of a command. */
  | { readonly type: 'result'; readonly id: string; readonly value: unknown }
  | { readonly type: 'failure'; readonly id: string; readonly failure: Failure }
  /** State that is shown and never stored. */
  | { readonly type: 'live'; readonly live: LiveState }
  | { readonly type: 'event'; readonly event: CoreEvent }
  /** A fault of the client, or an answer of another shape than the contract's. */
  | { readonly type: 'error'; readonly error: unknown }
