/** A service in the process of its tests, with a receiver of webhooks on the loopback address. */
import type { Webhook as Endpoint, WebhookAttempt } from '@hermod/protocol'
import { type Api, type Backend, waitFor } from '@hermod/testkit'
import {
  type ReceivedEvent,
  type ReceivedRequest,
  type ReceiverAnswer,
  WebhookReceiver,
} from '@hermod/testkit/webhooks'
import { Webhook } from 'standardwebhooks'
import { InProcessServer } from '../in-process-server.js'

export const secret = `whsec_${Buffer.alloc(32, 'k').toString('base64')}`
export const plainSecret = 'a-shared-text-of-a-callback'
const patience = { timeoutMs: 30_000 }

/** Settings of an endpoint, by the names of the API. */
export type EndpointSettings = Readonly<Record<string, unknown>>

/** An endpoint of the service, and the part of the receiver that gets its requests. */
export class Hook {
  /** Requests that were answered with 2xx, in the order of arrival. */
  readonly accepted: ReceivedRequest[] = []
  /** All requests. */
  readonly requests: ReceivedRequest[] = []
  answer: (request: ReceivedRequest) => ReceiverAnswer | undefined = () => undefined

  constructor(
    readonly place: HookedServer,
    readonly id: number,
    readonly path: string,
  ) {}

  /** Accepted events in the order of their first arrival, without repetitions. */
  get events(): ReceivedEvent[] {
    const byId = new Map<string, ReceivedEvent>()
    for (const event of this.accepted.flatMap(({ events }) => events))
      if (!byId.has(event.id)) byId.set(event.id, event)
    return [...byId.values()]
  }

  get contents(): string[] {
    return this.events.map(({ data }) => data.content)
  }

  /** Waits for so many different events. */
  async got(count: number): Promise<ReceivedEvent[]> {
    await this.until(() => this.events.length >= count, `${count} events`)
    return this.events
  }

  /** Waits for so many requests, whatever their answers. */
  tried(count: number): Promise<unknown> {
    return this.until(() => this.requests.length >= count, `${count} requests`)
  }

  until(isSo: () => boolean | Promise<boolean>, what: string): Promise<unknown> {
    const has = `${this.path} waits for ${what}; it has ${this.events.length} events of ${this.requests.length} requests`
    return waitFor(isSo, { what: has, everyMs: 20, ...patience })
  }

  async state(): Promise<Endpoint> {
    const { data } = await this.place.admin.succeed<Endpoint[]>('GET', '/app/webhook/list')
    const found = data.find(({ endpoint_id }) => endpoint_id === this.id)
    if (!found) throw new Error('the endpoint is gone')
    return found
  }

  /** Waits until the endpoint is in a state. */
  async becomes(isSo: (state: Endpoint) => boolean, what: string): Promise<Endpoint> {
    let last: Endpoint | undefined
    await this.until(async () => {
      last = await this.state()
      const is = isSo(last)
      // Progress is stored when the dispatcher looks.
      if (!is) await this.place.look()
      return is
    }, what)
    return last as Endpoint
  }

  update(changes: EndpointSettings) {
    return this.call('POST', 'update', changes)
  }

  replay(choice: EndpointSettings) {
    return this.call('POST', 'replay', choice)
  }

  async call(method: 'POST', name: string, more: EndpointSettings = {}) {
    const body = { endpoint_id: this.id, ...more }
    return (await this.place.admin.succeed(method, `/app/webhook/${name}`, { body })).data
  }

  async attempts(query: Readonly<Record<string, string>> = {}): Promise<WebhookAttempt[]> {
    const { data } = await this.place.admin.succeed('GET', '/app/webhook/attempts', {
      query: { endpoint_id: this.id, limit: 100, ...query },
    })
    return data.attempts
  }
}

/** A running service with a receiver; requests are answered by the hook of their path. */
export class HookedServer implements AsyncDisposable {
  readonly #hooks = new Map<string, Hook>()
  #made = 0
  #spare = 0

  private constructor(
    readonly server: InProcessServer,
    readonly receiver: WebhookReceiver,
  ) {}

  static async start(
    backend: Backend,
    settings: Readonly<Record<string, string>> = {},
  ): Promise<HookedServer> {
    const server = await InProcessServer.start(backend, {
      HERMOD_OUTBOUND_ALLOW: '127.0.0.1',
      ...settings,
    })
    const receiver = await WebhookReceiver.start({
      verify,
    })
    const place = new HookedServer(server, receiver)
    receiver.answer = (request) => place.#answer(request)
    place.#spare = (await place.hook({ kinds: ['webhook.disabled'] })).id
    return place
  }

  /**
   * Lets the dispatcher look for what is due at once, instead of within a second: any change makes
   * it look.
   */
  async look(): Promise<void> {
    const body = { endpoint_id: this.#spare, description: '' }
    await this.admin.succeed('POST', '/app/webhook/update', { body })
  }

  get admin(): Api {
    return this.server.api.admin()
  }

  /** Makes an endpoint; it gets what is committed from now on. */
  async hook(settings: EndpointSettings = {}): Promise<Hook> {
    const path = `/${++this.#made}`
    const body = {
      url: this.receiver.url + path,
      secret: settings.format === 'callback' ? plainSecret : secret,
      ...settings,
    }
    const { data } = await this.admin.succeed('POST', '/app/webhook/create', { body })
    const hook = new Hook(this, data.endpoint_id, path)
    this.#hooks.set(path, hook)
    return hook
  }

  /** Moves the clock of the service on. */
  async pass(ms: number): Promise<void> {
    this.server.clock.set(this.server.clock.now() + ms)
    await this.look()
  }

  /** Deletes the endpoints of a test, and checks that every request had a valid signature. */
  async clear(): Promise<void> {
    const { data } = await this.admin.succeed<Endpoint[]>('GET', '/app/webhook/list')
    for (const { endpoint_id } of data.filter(({ endpoint_id }) => endpoint_id !== this.#spare))
      await this.admin.succeed('POST', '/app/webhook/delete', { body: { endpoint_id } })
    this.#hooks.clear()
    const invalid = this.receiver.invalid.splice(0)
    if (invalid.length > 0) throw new Error(`requests that were not valid: ${invalid.join('; ')}`)
  }

  #answer(request: ReceivedRequest): ReceiverAnswer | undefined {
    const hook = this.#hooks.get(request.path)
    if (hook === undefined) return { status: 204 }
    hook.requests.push(request)
    const answer = hook.answer(request)
    const isAccepted =
      answer === undefined ||
      (answer !== 'silence' && 'status' in answer && answer.status >= 200 && answer.status < 300)
    if (isAccepted) hook.accepted.push(request)
    return answer
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]()
    await this.receiver[Symbol.asyncDispose]()
  }
}

/** @throws Error when a request is not signed as it has to be */
function verify(body: string, headers: Readonly<Record<string, string>>): void {
  if (headers.signature !== undefined) {
    if (headers.signature !== plainSecret) throw new Error('the callback has another secret')
    return
  }
  const webhook = new Webhook(secret)
  const sentAt = Number(headers['webhook-timestamp']) * 1_000
  // The package accepts only times near the real one; the clock of the service may be ahead.
  if (Math.abs(sentAt - Date.now()) < 60_000) {
    webhook.verify(body, headers)
    return
  }
  const expected = webhook.sign(headers['webhook-id'] ?? '', new Date(sentAt), body)
  if (!headers['webhook-signature']?.split(' ').includes(expected))
    throw new Error('the signature is wrong')
}
