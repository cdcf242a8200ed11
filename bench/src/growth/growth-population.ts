/**
 * A population with lists and pages that keep their length while the number of messages in its
 * other conversations grows.
 */
import type { Api } from '@hermod/testkit'
import type { LoadResult } from '../load/load-run.js'
import type { LoadPlan, RandomSendPlan, RequestUser } from '../load/plan.js'
import { portOf, type StoredServer } from '../measure/build.js'
import { fill } from '../population/fill.js'
import { createImportedUsers } from '../population/imported-users.js'
import { transactionCounter } from '../population/population.js'
import { cycle, getRequest, transactionsPerPlan } from '../scenarios/scenario.js'

/** Entries of every page that is read. */
export const growthPageLength = 20
/** Conversations of a user, who has started half of them. */
export const contactsPerUser = 50
const begunPerUser = contactsPerUser / 2
const targetsPerRequest = 20
const golden = (Math.sqrt(5) - 1) / 2

/** Reads that growth measures. */
export type GrowthRead = 'history' | 'unread' | 'conversations'

/**
 * Users of a server. Each has started 25 conversations; the first has exactly one page and receives
 * no more messages.
 */
export class GrowthPopulation {
  readonly port: number
  /** Messages stored by {@link create} and {@link grow}; callers count those of measured sends. */
  messages = 0
  readonly #server: StoredServer
  readonly #users: readonly RequestUser[]
  readonly #offsets: readonly number[]
  readonly #nextTransaction = transactionCounter()

  private constructor(server: StoredServer, users: readonly RequestUser[]) {
    this.#server = server
    this.#users = users
    this.#offsets = contactOffsets(users.length)
    this.port = portOf(server)
  }

  static async create(server: StoredServer, userCount: number): Promise<GrowthPopulation> {
    const { api, appId, adminToken, operatorToken } = server.process
    const ids = await createImportedUsers(api.as(operatorToken), appId, 'grower', userCount)
    const users = ids.map((id) => ({ id, token: adminToken, isOnBehalf: true }))
    const population = new GrowthPopulation(server, users)
    await population.#begin()
    return population
  }

  /**
   * Plan of measured sends: any user to any of the users that it writes to, with one message each.
   */
  sendPlan(): RandomSendPlan {
    return this.#randomSends(1)
  }

  /**
   * Adds messages, in lists of several, up to the given number.
   * @returns null when no message was missing
   */
  async grow(
    messages: number,
  ): Promise<{ readonly load: LoadResult; readonly messages: number } | null> {
    const requests = Math.ceil((messages - this.messages) / targetsPerRequest)
    if (requests <= 0) return null
    const load = await fill(this.port, { ...this.#randomSends(targetsPerRequest), requests })
    this.messages += requests * targetsPerRequest
    return { load, messages: requests * targetsPerRequest }
  }

  /**
   * Plan of reads. Every answer has the same number of entries for every user and any number of
   * messages.
   */
  readPlan(read: GrowthRead): LoadPlan {
    const { appId } = this.#server.process
    return cycle(
      this.#inMixedOrder().map((index) =>
        getRequest(this.#path(read, index), { appId, user: this.#user(index) }),
      ),
    )
  }

  /**
   * Checks the lengths of lists and pages, since other lengths would make the figures meaningless.
   * @throws Error for another length
   */
  async checkLengths(): Promise<void> {
    const sample = this.#inMixedOrder().slice(0, 20)
    const expected: Record<GrowthRead, number> = {
      history: growthPageLength,
      unread: begunPerUser,
      conversations: growthPageLength,
    }
    for (const index of sample)
      for (const [read, length] of Object.entries(expected) as [GrowthRead, number][]) {
        const found = await this.#lengthOf(read, index)
        if (found !== length)
          throw new Error(`${read} of user ${index} has ${found} entries instead of ${length}`)
      }
  }

  async #lengthOf(read: GrowthRead, index: number): Promise<number> {
    const api: Api = this.#server.process.api.admin({ userId: this.#user(index).id })
    const { data } = await api.succeed('GET', this.#path(read, index))
    return (data.messages ?? data.conversations ?? data).length
  }

  #path(read: GrowthRead, index: number): string {
    if (read === 'unread') return '/message/unread'
    if (read === 'conversations') return `/message/conversation_list?limit=${growthPageLength}`
    const opposite = this.#user((index + this.#pageOffset) % this.#users.length).id
    return `/message/conversation?limit=${growthPageLength}&msg_id_start=0&opposite_id=${opposite}`
  }

  /** Starts the conversations of all users, then fills the first of each up to a page. */
  async #begin(): Promise<void> {
    const senders = this.#senders()
    const begun = { ...senders, kind: 'send' as const, offsets: [this.#offsets] }
    const requests = this.#users.length
    await fill(this.port, { ...begun, requests, firstTransaction: this.#nextTransaction(requests) })
    const rest = requests * (growthPageLength - 1)
    await fill(this.port, {
      ...begun,
      offsets: [[this.#pageOffset]],
      requests: rest,
      firstTransaction: this.#nextTransaction(rest),
    })
    this.messages = requests * begunPerUser + rest
  }

  #randomSends(targets: number): RandomSendPlan {
    return {
      ...this.#senders(),
      kind: 'randomSend',
      offsets: this.#offsets.slice(1),
      targetsPerRequest: targets,
      firstTransaction: this.#nextTransaction(transactionsPerPlan),
    }
  }

  #senders() {
    return { appId: this.#server.process.appId, users: this.#users }
  }

  get #pageOffset(): number {
    return this.#offsets[0] ?? 0
  }

  #inMixedOrder(): number[] {
    const places = this.#users.map((_, index) => ({ index, place: (index * golden) % 1 }))
    return places.sort((a, b) => a.place - b.place).map(({ index }) => index)
  }

  #user(index: number): RequestUser {
    return this.#users[index] as RequestUser
  }
}

/**
 * Offsets of the users that each user sends to. They cover the next half of all users, so that no
 * conversation is started from both sides.
 */
export function contactOffsets(userCount: number): number[] {
  const places = Math.floor((userCount - 1) / 2 / begunPerUser)
  return Array.from(
    { length: begunPerUser },
    (_, index) => 1 + index * places + Math.floor(((index * golden) % 1) * places),
  )
}
