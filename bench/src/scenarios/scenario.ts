/** Scenarios and their requests. */
import type { Session } from '@hermod/testkit'
import { type LoadPlan, type RequestCaller, requestHead, type Senders } from '../load/plan.js'
import type { Population } from '../population/population.js'

/** Database of a measurement. */
export type DatabaseName = 'sqlite' | 'postgres'

/** Target of a scenario. */
export interface Target {
  /** Share of the bare echo's rate. */
  readonly share?: number
  /** Desirable share above the target. */
  readonly aim?: number
  /** Share of the rate of another scenario of the same set. */
  readonly ofOther?: { readonly name: string; readonly share: number }
  readonly p99Ms?: number
  readonly maxMs?: number
}

/** Requests at the highest rate that the server takes, with their target. */
export interface Scenario {
  readonly name: string
  /**
   * Scenarios of one set are chosen together and measured in turns. Omitted: alone, under its own
   * name.
   */
  readonly set?: string
  readonly what: string
  readonly connections: number
  /** Uses the conversations of `createConversations`. */
  readonly needsConversations: boolean
  /** Text in the body of an answer with code 200 that marks a failure. */
  readonly failureText?: string
  readonly targets: Partial<Record<DatabaseName, Target>>
  /** @returns the plan of all runs together; each continues after the last one */
  prepare(population: Population): Promise<LoadPlan>
}

/** Returns the name of the scenario's set. */
export function setOf({ set, name }: Scenario): string {
  return set ?? name
}

/** Transaction IDs that are reserved for a plan, more than any takes. */
export const transactionsPerPlan = 100_000_000

/** Converts to plain data, which crosses to the load process. */
export function sendersOf(appId: string, users: readonly Session[]): Senders {
  return { appId, users: users.map(({ id, token }) => ({ id, token })) }
}

/** Returns a plan that repeats requests. */
export function cycle(requests: readonly string[]): LoadPlan {
  return { kind: 'cycle', requests }
}

/** Returns a complete GET request. */
export function getRequest(path: string, caller: RequestCaller): string {
  return `${requestHead('GET', path, caller)}\r\n`
}

/** @param value in Latin-1, one byte per character */
export function postRequest(path: string, value: object, caller: RequestCaller): string {
  const body = JSON.stringify(value)
  return `${requestHead('POST', path, caller)}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}
