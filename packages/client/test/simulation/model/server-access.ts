/** What the parts of the model server need of it. */
import type { Json } from '@hermod/testkit'
import type { Random } from '../../../../server/test/support/random.js'
import type { Agenda } from '../agenda.js'
import type { AnswerLimits, Answers } from './answers.js'
import type { Database, LogName } from './state.js'
import type { Write } from './writes.js'

export interface ModelServerOptions {
  readonly agenda: Agenda
  readonly random: Random
  readonly limits: AnswerLimits
  readonly transactionTtlMs: number
  readonly maxInFlight: number
}

/** Hears what clients do, for checks. */
export interface Observer {
  /** A device has confirmed messages of a log up to a position. */
  delivered(owner: string, log: LogName, seq: number): void
}

/** A reaction or pin that a device has called for, refused or not. */
export interface Wished {
  readonly owner: string
  /** The message, and the key of the reaction. */
  readonly name: string
  readonly isOn: boolean
  readonly at: number
}

/** The user and device of a session. */
export interface SessionName {
  readonly owner: string
  readonly userId: number
  readonly guid: string | undefined
  readonly deviceSn: number
}

export interface ServerAccess {
  readonly database: Database
  readonly options: ModelServerOptions
  readonly answers: Answers
  readonly observe: Observer | undefined
  /** Milliseconds since 1970. */
  readonly now: number
  /** So many of the next calls run, and are not answered. */
  unanswered: number
  /** What clients did against the contract. */
  readonly wrong: string[]
  /** Edits by transaction ID and recalls by message ID that were refused, not to be repeated. */
  readonly refused: Set<string>
  /** Transaction IDs of edits that name no edit that their user has seen. */
  readonly unconditional: Set<number>
  /** Messages that were edited meanwhile, by the transaction ID of the refused edit. */
  readonly conflicts: Map<number, number>
  /** Reactions and pins in the order of their calls. */
  readonly wished: Wished[]
  /** Heads that were answered. */
  heads: number
  nextId(): number
  deviceSn(userId: number, guid: string): number
  /** @returns the user of a token, or the refusal */
  check(token: string): number | 'token_expired' | 'token_invalid'
  commit(write: Write): void
  closeAll(code: number, isMeant?: (session: SessionName) => boolean): void
  leave(session: SessionName): void
  /** Runs a call. @throws Refusal */
  run(session: SessionName, op: string, data: Json): Json
}
