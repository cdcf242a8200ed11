/** What a load run asks for, as data that crosses to the load process; the requests are put together there, just before they are written. */

export interface Senders {
  readonly appId: string
  readonly users: readonly RequestUser[]
}

/** Whom a request is made as. */
export interface RequestUser {
  readonly id: number
  /** The user's own. */
  readonly token: string
  /** The token is an Admin token that calls on behalf of the user. */
  readonly isOnBehalf?: boolean
}

export interface SendPlan extends Senders {
  readonly kind: 'send'
  /**
   * Users send in turn; in round r the user at index i sends to the users at index i + each of `offsets[r]`, counted around. One list holds
   * the targets of one request; the rounds repeat when they are used up.
   */
  readonly offsets: readonly (readonly number[])[]
  /** Each request takes the next transaction_id. */
  readonly firstTransaction: number
  /** Ends after so many requests; unset: never. */
  readonly requests?: number
}

/** The users send in turn to one group. */
export interface GroupSendPlan extends Senders {
  readonly kind: 'groupSend'
  readonly groupId: number
  readonly firstTransaction: number
  readonly requests?: number
}

/** Every message is the first of its conversation: each user sends once to each of the recipients. Ends when all have. */
export interface StartPlan extends Senders {
  readonly kind: 'start'
  /** None of the users, and nobody whom they have written to. */
  readonly recipientIds: readonly number[]
  readonly firstTransaction: number
}

/** Senders and their contacts are picked by chance; the same ones in every run with the same first transaction. */
export interface RandomSendPlan extends Senders {
  readonly kind: 'randomSend'
  /** The user at index i sends to the users at index i + offset, counted around. */
  readonly offsets: readonly number[]
  readonly targetsPerRequest: number
  readonly firstTransaction: number
  readonly requests?: number
}

export interface CyclePlan {
  readonly kind: 'cycle'
  /** Complete requests, sent in turn, again and again. */
  readonly requests: readonly string[]
}

export type LoadPlan = SendPlan | GroupSendPlan | StartPlan | RandomSendPlan | CyclePlan

/** Gives the next request, in Latin-1; null: no more. */
export type RequestSource = () => string | null

/** @param taken how many requests of the plan earlier runs have taken: this one goes on after them */
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

const content =
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
  // In round r the user at index i sends to the recipient at i + r, so that those of a round differ, as they do where users send to each other.
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
    // A run of neighbours on the list of offsets, so that no target is named twice.
    const first = random(offsets.length)
    const targets = Array.from({ length: targetsPerRequest }, (_, index) => {
      const offset = offsets[(first + index) % offsets.length] ?? 0
      return users[(sender + offset) % users.length]?.id
    })
    return { sender, targets: targets.join() }
  }
}

/** Mulberry32. @returns gives integers from 0 up to, but not including, a limit */
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
  /** 1 to users, 2 to groups */
  readonly type: 1 | 2
  /** The sender's index and the targets of a message, by the number of those before it. */
  next(sent: number): { readonly sender: number; readonly targets: string }
}

function eachInTurn({ users }: Senders, targetsOf: (sent: number) => string): Messages['next'] {
  return (sent) => ({ sender: sent % users.length, targets: targetsOf(sent) })
}

function messageSource(
  plan: Senders & { readonly firstTransaction: number; readonly requests?: number },
  taken: number,
  { type, next }: Messages,
): RequestSource {
  const { appId, users, firstTransaction, requests = Number.POSITIVE_INFINITY } = plan
  const heads = users.map(
    (user) =>
      `${requestHead('POST', '/message/send', { appId, user })}content-type: application/json\r\ncontent-length: `,
  )
  let sent = taken
  return () => {
    if (sent >= requests) return null
    const { sender, targets } = next(sent)
    const transaction = firstTransaction + sent
    const body = `{"content":"${content}","content_type":0,"type":${type},"targets":[${targets}],"transaction_id":${transaction}}`
    sent++
    return `${heads[sender]}${body.length}\r\n\r\n${body}`
  }
}

/** Who calls; without a user nobody does. */
export interface RequestCaller {
  readonly appId: string
  readonly user?: RequestUser
}

/** The request line and the headers that every request has; open for more headers. */
export function requestHead(method: string, path: string, { appId, user }: RequestCaller): string {
  const accessToken = user ? `access-token: ${user.token}\r\n` : ''
  const userId = user?.isOnBehalf ? `user_id: ${user.id}\r\n` : ''
  return `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\napp_id: ${appId}\r\n${accessToken}${userId}`
}
