/** What scenarios work with, made through the API as clients would. */
import type { Api, Session } from '@hermod/testkit'

/** The users of a build and what they have. */
export interface Population {
  readonly appId: string
  /** Calls as nobody, and with the Admin token. */
  readonly api: Api
  readonly operator: Api
  readonly users: readonly Session[]
  /** Members of the large group. */
  readonly groupSize: number
  /** Users to whom broadcasts are sent. */
  readonly crowdSize: number
  /** Reserves transaction IDs that no other run uses. */
  transactionIds(count: number): number
  /** Made when it is first asked for. */
  groups(): Promise<GroupWorld>
  /** As {@link groups}. */
  broadcasts(): Promise<BroadcastReaders>
  /** As {@link groups}. */
  crowd(): Promise<Crowd>
}

/** A group of three and a large one. */
export interface GroupWorld {
  readonly smallId: number
  readonly largeId: number
  /** The members of the small group, members of the large one too; the first one owns both. */
  readonly senders: readonly Session[]
  /** Members of the large group alone, spread over it. */
  readonly readers: readonly Session[]
  /** Users in no group, for whom the large one has room. */
  readonly outsiderIds: readonly number[]
  readonly figures: GroupFillFigures
}

/** The same people with the same conversations, who have got broadcasts from the system and read none of them. */
export interface BroadcastReaders {
  readonly appId: string
  readonly users: readonly Session[]
}

/** An application with very many users. */
export interface Crowd {
  readonly appId: string
  readonly adminToken: string
}

export interface GroupFillFigures {
  readonly imported: number
  readonly importMs: number
  readonly joined: number
  readonly joinMs: number
}

/** IDs below 2^53 with the same number of digits throughout. */
export function transactionCounter(): Population['transactionIds'] {
  let next = 1_000_000_000_000_000
  return (count) => {
    next += count
    return next - count
  }
}
