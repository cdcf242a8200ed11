/** What a load run asks for, as data that crosses to the load process; the requests are put together there, just before they are written. */

export interface Identity {
  readonly appId: string
  readonly users: readonly { readonly id: number; readonly token: string }[]
}

export interface SendPlan extends Identity {
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

export interface CyclePlan {
  readonly kind: 'cycle'
  /** Complete requests, sent in turn, again and again. */
  readonly requests: readonly string[]
}

export type Plan = SendPlan | CyclePlan

/** Gives the next request, in Latin-1; null: no more. */
export type RequestSource = () => string | null

export function requestSource(plan: Plan): RequestSource {
  return plan.kind === 'send' ? sendSource(plan) : cycleSource(plan)
}

function cycleSource({ requests }: CyclePlan): RequestSource {
  let next = 0
  return () => {
    const request = requests[next] ?? null
    next = next + 1 === requests.length ? 0 : next + 1
    return request
  }
}

const content = 'The quick brown fox jumps over the lazy dog, then rests beside the river until the evening comes.   '

function sendSource({ appId, users, offsets, firstTransaction, requests = Number.POSITIVE_INFINITY }: SendPlan): RequestSource {
  const count = users.length
  const ids = users.map(({ id }) => String(id))
  const heads = users.map(
    ({ token }) => `${requestHead('POST', '/message/send', { appId, token })}content-type: application/json\r\ncontent-length: `,
  )
  let sent = 0
  return () => {
    if (sent === requests) return null
    const sender = sent % count
    const targets = (offsets[Math.floor(sent / count) % offsets.length] ?? []).map((offset) => ids[(sender + offset) % count])
    const body = `{"content":"${content}","content_type":0,"type":1,"targets":[${targets.join()}],"transaction_id":${firstTransaction + sent}}`
    sent++
    return `${heads[sender]}${body.length}\r\n\r\n${body}`
  }
}

/** The request line and the headers that every request has; open for more headers. */
export function requestHead(method: string, path: string, { appId, token }: { readonly appId: string; readonly token?: string }): string {
  const accessToken = token === undefined ? '' : `access-token: ${token}\r\n`
  return `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\napp_id: ${appId}\r\n${accessToken}`
}
