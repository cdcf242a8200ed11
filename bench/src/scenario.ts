/** What a scenario is, and how its requests are written. */
import type { Api, Session } from '@hermod/testkit'
import type { GroupWorld } from './group-fill.js'
import { type Identity, type Plan, requestHead } from './plan.js'

export type DatabaseName = 'sqlite' | 'postgres'

/** What a scenario has to reach. */
export interface Target {
  /** Of the bare echo's rate. */
  readonly share?: number
  /** Worth reaching beyond the share. */
  readonly aim?: number
  /** Of the rate of another scenario of the same set. */
  readonly ofOther?: { readonly name: string; readonly share: number }
  readonly p99Ms?: number
  readonly maxMs?: number
}

/** What the scenarios work with. */
export interface Population {
  readonly appId: string
  /** Calls as nobody, and with the Admin token. */
  readonly api: Api
  readonly operator: Api
  readonly users: readonly Session[]
  /** Members of the large group. */
  readonly groupSize: number
  /** Reserves transaction IDs that no other run uses. */
  transactionIds(count: number): number
  /** Made when it is first asked for. */
  groups(): Promise<GroupWorld>
}

export interface Scenario {
  readonly name: string
  /** Scenarios of one set are chosen together and measured in turns. Unset: alone, under its own name. */
  readonly set?: string
  readonly what: string
  readonly connections: number
  /** Works on the conversations that `createConversations` makes. */
  readonly needsConversations: boolean
  /** In the body of an answer of code 200 that is a failure all the same. */
  readonly failureText?: string
  readonly targets: Partial<Record<DatabaseName, Target>>
  /** @returns gives the load of one run; each call's may run on the same data */
  prepare(population: Population): Promise<() => Plan>
}

export function setOf({ set, name }: Scenario): string {
  return set ?? name
}

// No run takes more.
export const transactionsPerRun = 100_000_000

/** As plain data, which crosses to the load process. */
export function identityOf(appId: string, users: readonly Session[]): Identity {
  return { appId, users: users.map(({ id, token }) => ({ id, token })) }
}

export function cycle(requests: readonly string[]): () => Plan {
  return () => ({ kind: 'cycle', requests })
}

interface RequestCaller {
  readonly appId: string
  readonly token?: string
}

export function getRequest(path: string, caller: RequestCaller): string {
  return `${requestHead('GET', path, caller)}\r\n`
}

/** @param value in Latin-1, one byte per character */
export function postRequest(path: string, value: object, caller: RequestCaller): string {
  const body = JSON.stringify(value)
  return `${requestHead('POST', path, caller)}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}
