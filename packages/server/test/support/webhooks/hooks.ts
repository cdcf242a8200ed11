/** Endpoints of a service in this process, each with a receiver that verifies every request. */
import { type Json, type Session, waitFor } from '@hermod/testkit'
import { type ReceivedEvent, type ReceiverAnswer, WebhookReceiver } from '@hermod/testkit/webhooks'
import { Webhook } from 'standardwebhooks'
import type { InProcessServer } from '../in-process-server.js'

const patienceMs = 60_000
/** The secret of all receivers. */
export const hookSecret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

/** Settings of the service that let it send to these receivers. */
export const hookSettings = { HERMOD_OUTBOUND_ALLOW: '127.0.0.1' }

/** Returns a receiver for {@link hookSecret}. */
export function startReceiver(
  answer: (event: ReceivedEvent) => ReceiverAnswer | undefined = () => undefined,
): Promise<WebhookReceiver> {
  const webhook = new Webhook(hookSecret)
  return WebhookReceiver.start({
    verify: (body, headers) => webhook.verify(body, headers),
    answer: ({ events: [first] }) => first && answer(first),
  })
}

/** An endpoint with its receiver. */
export class Hook implements AsyncDisposable {
  private constructor(
    private readonly server: InProcessServer,
    readonly receiver: WebhookReceiver,
    readonly id: number,
  ) {}

  /**
   * Makes an endpoint for new messages of a user.
   * @param settings further settings of the endpoint
   */
  static async open(
    server: InProcessServer,
    user: Pick<Session, 'id'>,
    answer?: (event: ReceivedEvent) => ReceiverAnswer | undefined,
    settings: Readonly<Record<string, unknown>> = {},
  ): Promise<Hook> {
    const receiver = await startReceiver(answer)
    const ofUser = { kinds: ['message.stored'], receivers: [user.id] }
    const body = { url: receiver.url, secret: hookSecret, ...ofUser, ...settings }
    const { data } = await server.api.admin().succeed('POST', '/app/webhook/create', { body })
    return new Hook(server, receiver, data.endpoint_id)
  }

  /** The contents of the messages that were accepted, in the order of their first arrival. */
  get contents(): string[] {
    return this.receiver.events.map(({ data }) => data.content)
  }

  async until(isReached: (hook: this) => boolean, what: string): Promise<void> {
    await waitFor(() => isReached(this), { what, timeoutMs: patienceMs })
  }

  async state(): Promise<Json> {
    const { data } = await this.server.api.admin().succeed('GET', '/app/webhook/list')
    return data.find(({ endpoint_id }: Json) => endpoint_id === this.id)
  }

  /** Waits for a state of the endpoint. */
  async untilState(isReached: (state: Json) => boolean, what: string): Promise<void> {
    await waitFor(async () => isReached(await this.state()), { what, timeoutMs: patienceMs })
  }

  /** Waits for the first attempt without success. */
  async failedAttempt(): Promise<Json> {
    const query = { endpoint_id: this.id, failed: true }
    return waitFor(
      async () => {
        const { data } = await this.server.api
          .admin()
          .succeed('GET', '/app/webhook/attempts', { query })
        return data.attempts.at(-1)
      },
      { what: 'a failed attempt', timeoutMs: patienceMs },
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const body = { endpoint_id: this.id }
    await this.server.api.admin().succeed('POST', '/app/webhook/delete', { body })
    await this.receiver[Symbol.asyncDispose]()
  }
}

/** Sends texts to each of the users, one call for each text. */
export async function sendToAll(
  sender: Session,
  userIds: readonly number[],
  texts: readonly string[],
): Promise<void> {
  for (const content of texts)
    for (let start = 0; start < userIds.length; start += 500)
      await sender.api.succeed('POST', '/message/send', {
        body: { type: 1, content_type: 0, targets: userIds.slice(start, start + 500), content },
      })
}
