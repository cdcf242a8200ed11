import type { StoredState } from '../ports/store.js'
import type { Command, Input } from './inputs.js'

/** The answer to session.open; the definition is in the protocol. */
export interface OpenedSession {
  readonly session_id: number
  readonly user_id: number
  readonly device_sn?: number
  readonly epoch: string
  /** Present with `current`. */
  readonly pos?: string
  /** Milliseconds since 1970. */
  readonly server_time: number
  readonly ping_ms: number
  readonly max_frame: number
  readonly max_in_flight: number
  readonly transaction_ttl_ms: number
  readonly sync: 'current' | 'needed' | 'reset'
  /** Names of additions to the contract that the service has; absent: none. */
  readonly features?: unknown
}

/** An event of the server, as its frame has it. `data` is an object; its members are not checked. */
export interface ServerEvent {
  readonly event: string
  readonly data: unknown
  /** An integer; only numbered events have it. */
  readonly change?: number
}

/** Inputs about uploads, and messages of the store. */
export type PartInput = Extract<
  Input,
  { readonly type: 'uploadProgress' | 'uploaded' | 'messages' }
>

/**
 * A part of the core. Of each input all parts hear, in the order of `createParts`. A part that
 * throws on a frame makes the client connect anew, so that the position never passes that frame.
 */
export interface Part {
  /** Takes over what is stored; once, before everything else. */
  start?(state: StoredState): void
  /** A session is open. The batch has its user and epoch; after another epoch `reset` came first. */
  opened?(session: OpenedSession): void
  /** The session has ended; all its calls are lost. */
  closed?(): void
  event?(frame: ServerEvent): void
  /** The position of a frame, after its event. */
  pos?(pos: string): void
  /** @returns true: the command is one of this part */
  command?(id: string, command: Command): boolean
  /** The outcome of a command is not needed any more. */
  cancel?(id: string): void
  input?(input: PartInput): void
  /** Everything but unsent messages is dropped from the store; the batch knows. */
  reset?(): void
}
