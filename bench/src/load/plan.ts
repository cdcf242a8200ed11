/**
 * Plan of a load run as data that crosses to the load process, which builds each request just
 * before it is written.
 */

import { timedText } from '../realtime/latencies.js'

/** Users of one application whose requests a plan sends. */
export interface Senders {
  readonly appId: string
  readonly users: readonly RequestUser[]
}

/** User of a request. */
export interface RequestUser {
  readonly id: number
  /** The user's own token. */
  readonly token: string
  /** The token is an Admin token that acts for the user. */
  readonly isOnBehalf?: boolean
}

/** Sends between users, each with a new transaction ID. */
export interface SendPlan extends Senders {
  readonly kind: 'send'
  /**
   * Users send in turn; in round r the user at index i sends to the users at index i + each of
   * `offsets[r]`, modulo the number of users. One list holds the targets of one request. The rounds
   * repeat.
   */
  readonly offsets: readonly (readonly number[])[]
  /** Transaction_id of the first request; each request takes the next one. */
  readonly firstTransaction: number
  /** Number of requests after which the plan ends; omitted: never. */
  readonly requests?: number
  /** The texts have the time of their send. */
  readonly isTimed?: boolean
}

/** Users send in turn to one group. */
export interface GroupSendPlan extends Senders {
  readonly kind: 'groupSend'
  readonly groupId: number
  readonly firstTransaction: number
  readonly requests?: number
}

/**
 * Every message is the first of its conversation: each user sends once to each of the recipients,
 * and then the plan ends.
 */
export interface StartPlan extends Senders {
  readonly kind: 'start'
  /** Recipients that are not among the users, and have no conversation with them. */
  readonly recipientIds: readonly number[]
  readonly firstTransaction: number
}

/** Random senders and contacts; the same in every run with the same first transaction. */
export interface RandomSendPlan extends Senders {
  readonly kind: 'randomSend'
  /** The user at index i sends to the users at index i + offset, modulo the number of users. */
  readonly offsets: readonly number[]
  readonly targetsPerRequest: number
  readonly firstTransaction: number
  readonly requests?: number
}

/** The same requests again and again. */
export interface CyclePlan {
  readonly kind: 'cycle'
  /** Complete requests, sent in turn repeatedly. */
  readonly requests: readonly string[]
}

/** Requests of a run as plain data. */
export type LoadPlan = SendPlan | GroupSendPlan | StartPlan | RandomSendPlan | CyclePlan

/** Returns the next request, in Latin-1; null at the end. */
export type RequestSource = () => string | null

/** @param taken number of requests of the plan that earlier runs have sent */
export function requestSource(plan: LoadPlan, taken = 0): RequestSource {
  switch (plan.kind) {
    case 'cycle':
      return cycleSource(plan, taken)
    case 'send':
      return messageSource(plan, taken, { type: 1, next: sendsInTurn(plan) })
    case 'groupSend':
      return messageSource(plan, taken, {
        type: 2,
        next: eachInTurn(plan, () => String(plan.groupId)),
      })
    case 'start':
      return startSource(plan, taken)
    case 'randomSend':
      return messageSource(plan, taken, { type: 1, next: randomSends(plan, taken) })
  }
}

function cycleSource({ requests }: CyclePlan, taken: number): RequestSource {
  let next = taken % requests.length
  return () => {
    const request = requests[next] ?? null
    next = next + 1 === requests.length ? 0 : next + 1
    return request
  }
}

const textBytes = 100
const plainText =
  'The quick brown fox jumps over the lazy dog, then rests beside the river until the evening comes.   '

function sendsInTurn(plan: SendPlan): Messages['next'] {
  const ids = plan.users.map(({ id }) => String(id))
  const { offsets } = plan
  const targets = (sent: number) =>
    (offsets[Math.floor(sent / ids.length) % offsets.length] ?? [])
      .map((offset) => ids[(sent + offset) % ids.length])
      .join()
  return eachInTurn(plan, targets)
}

function startSource(plan: StartPlan, taken: number): RequestSource {
  const { users, recipientIds } = plan
  // In round r the user at index i sends to the recipient at i + r, so that the recipients of a
  // round differ, as they do where users send to each other.
  const recipient = (sent: number) =>
    String(
      recipientIds[((sent % users.length) + Math.floor(sent / users.length)) % recipientIds.length],
    )
  const requests = users.length * recipientIds.length
  return messageSource({ ...plan, requests }, taken, {
    type: 1,
    next: eachInTurn(plan, recipient),
  })
}

function randomSends(plan: RandomSendPlan, taken: number): Messages['next'] {
  const { users, offsets, targetsPerRequest, firstTransaction } = plan
  const random = randomIntegers(firstTransaction + taken)
  return () => {
    const sender = random(users.length)
    // A run of neighbours on the list of offsets, so that targets do not repeat.
    const first = random(offsets.length)
    const targets = Array.from({ length: targetsPerRequest }, (_, index) => {
      const offset = offsets[(first + index) % offsets.length] ?? 0
      return users[(sender + offset) % users.length]?.id
    })
    return { sender, targets: targets.join() }
  }
}

/**
 * Mulberry32.
 * @returns a function that returns integers from 0 up to, but not including, a limit
 */
function randomIntegers(seed: number): (limit: number) => number {
  let state = (seed % 2 ** 32) | 0
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit)
  }
}

interface Messages {
  /** 1: to users, 2: to groups */
  readonly type: 1 | 2
  /** Returns the sender's index and the targets of a message, by the number of earlier messages. */
  next(sent: number): { readonly sender: number; readonly targets: string }
}

function eachInTurn({ users }: Senders, targetsOf: (sent: number) => string): Messages['next'] {
  return (sent) => ({ sender: sent % users.length, targets: targetsOf(sent) })
}

function messageSource(
  plan: Senders & Pick<SendPlan, 'firstTransaction' | 'requests' | 'isTimed'>,
  taken: number,
  { type, next }: Messages,
): RequestSource {
  const { appId, users, firstTransaction, isTimed = false } = plan
  const { requests = Number.POSITIVE_INFINITY } = plan
  const heads = users.map(
    (user) =>
      `${requestHead('POST', '/message/send', { appId, user })}content-type: application/json\r\ncontent-length: `,
  )
  let sent = taken
  return () => {
    if (sent >= requests) return null
    const { sender, targets } = next(sent)
    const transaction = firstTransaction + sent
    const content = isTimed ? timedText(textBytes) : plainText
    const body = `{"content":"${content}","content_type":0,"type":${type},"targets":[${targets}],"transaction_id":${transaction}}`
    sent++
    return `${heads[sender]}${body.length}\r\n\r\n${body}`
  }
}

/** Caller of a request; without a user the call has no token. */
export interface RequestCaller {
  readonly appId: string
  readonly user?: RequestUser
}

/** Returns the request line and the headers of every request; further headers may follow. */
export function requestHead(method: string, path: string, { appId, user }: RequestCaller): string {
  const accessToken = user ? `access-token: ${user.token}\r\n` : ''
  const userId = user?.isOnBehalf ? `user_id: ${user.id}\r\n` : ''
  return `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\napp_id: ${appId}\r\n${accessToken}${userId}`
}
