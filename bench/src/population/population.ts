/** Data of the scenarios, created through the API as clients would. */
import type { Api, Session } from '@hermod/testkit'

/** The users of a build, and their data. */
export interface Population {
  readonly appId: string
  /** Calls without a token or with the Admin token. */
  readonly api: Api
  readonly operator: Api
  readonly users: readonly Session[]
  /** Members of the large group. */
  readonly groupSize: number
  /** Number of recipients of broadcasts. */
  readonly crowdSize: number
  /** Reserves transaction IDs that no other run uses. */
  transactionIds(count: number): number
  /** Created at the first request. */
  groups(): Promise<GroupWorld>
  /** Created at the first request, as {@link groups}. */
  broadcasts(): Promise<BroadcastReaders>
  /** Created at the first request, as {@link groups}. */
  crowd(): Promise<Crowd>
}

/** A group of three and a large one. */
export interface GroupWorld {
  readonly smallId: number
  readonly largeId: number
  /** The members of the small group, who are also members of the large one; the first owns both. */
  readonly senders: readonly Session[]
  /** Members of the large group only, spread over it. */
  readonly readers: readonly Session[]
  /** Users without a group, who fit into the large one. */
  readonly outsiderIds: readonly number[]
  readonly figures: GroupFillFigures
}

/** The same users and conversations, with unread broadcasts from the system. */
export interface BroadcastReaders {
  readonly appId: string
  readonly users: readonly Session[]
}

/** An application with very many users. */
export interface Crowd {
  readonly appId: string
  readonly adminToken: string
}

/** Users that were imported and then joined the large group, with the times. */
export interface GroupFillFigures {
  readonly imported: number
  readonly importMs: number
  readonly joined: number
  readonly joinMs: number
}

/** Returns IDs below 2^53 with a constant number of digits. */
export function transactionCounter(): Population['transactionIds'] {
  let next = 1_000_000_000_000_000
  return (count) => {
    next += count
    return next - count
  }
}
