/** What a load run asks for, as data that crosses to the load process; the requests are put together there, just before they are written. */

export interface Senders {
  readonly appId: string
  readonly users: readonly { readonly id: number; readonly token: string }[]
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

export interface CyclePlan {
  readonly kind: 'cycle'
  /** Complete requests, sent in turn, again and again. */
  readonly requests: readonly string[]
}

export type LoadPlan = SendPlan | GroupSendPlan | CyclePlan

/** Gives the next request, in Latin-1; null: no more. */
export type RequestSource = () => string | null

export function requestSource(plan: LoadPlan): RequestSource {
  if (plan.kind === 'cycle') return cycleSource(plan)
  return plan.kind === 'send'
    ? sendSource(plan)
    : messageSource(plan, 2, () => String(plan.groupId))
}

function cycleSource({ requests }: CyclePlan): RequestSource {
  let next = 0
  return () => {
    const request = requests[next] ?? null
    next = next + 1 === requests.length ? 0 : next + 1
    return request
  }
}

const content =
  'The quick brown fox jumps over the lazy dog, then rests beside the river until the evening comes.   '

function sendSource(plan: SendPlan): RequestSource {
  const ids = plan.users.map(({ id }) => String(id))
  const count = ids.length
  const { offsets } = plan
  return messageSource(plan, 1, (sent) =>
    (offsets[Math.floor(sent / count) % offsets.length] ?? [])
      .map((offset) => ids[(sent + offset) % count])
      .join(),
  )
}

/** @param targetsOf the targets of a message, by the number of those before it */
function messageSource(
  plan: SendPlan | GroupSendPlan,
  type: number,
  targetsOf: (sent: number) => string,
): RequestSource {
  const { appId, users, firstTransaction, requests = Number.POSITIVE_INFINITY } = plan
  const heads = users.map(
    ({ token }) =>
      `${requestHead('POST', '/message/send', { appId, token })}content-type: application/json\r\ncontent-length: `,
  )
  let sent = 0
  return () => {
    if (sent === requests) return null
    const transaction = firstTransaction + sent
    const body = `{"content":"${content}","content_type":0,"type":${type},"targets":[${targetsOf(sent)}],"transaction_id":${transaction}}`
    const head = heads[sent % users.length]
    sent++
    return `${head}${body.length}\r\n\r\n${body}`
  }
}

/** The request line and the headers that every request has; open for more headers. */
export function requestHead(
  method: string,
  path: string,
  { appId, token }: { readonly appId: string; readonly token?: string },
): string {
  const accessToken = token === undefined ? '' : `access-token: ${token}\r\n`
  return `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\napp_id: ${appId}\r\n${accessToken}`
}
