/** An application with senders and endpoints. */
import type { Api } from '@hermod/testkit'
import type { LoadOrder, LoadResult } from '../load/load-run.js'
import type { SendPlan } from '../load/plan.js'
import { load } from '../load/processes.js'
import { portOf, type StoredServer } from '../measure/build.js'
import { apiOfNewApp } from '../population/broadcasts.js'
import { fill } from '../population/fill.js'
import { createImportedUsers } from '../population/imported-users.js'
import { transactionCounter } from '../population/population.js'
import { transactionsPerPlan } from '../scenarios/scenario.js'

const senderCount = 1_000
const connections = 16
const warmUpMs = 1_000
const transactions = transactionCounter()

/** An application with endpoints and users that send. */
export class WebhookApp {
  private constructor(
    private readonly server: StoredServer,
    private readonly api: Api,
    private readonly userIds: readonly number[],
  ) {}

  static async make(server: StoredServer): Promise<WebhookApp> {
    const { api, operatorToken } = server.process
    const operator = api.as(operatorToken)
    const own = await apiOfNewApp(api, operator)
    const ids = await createImportedUsers(operator, own.options.appId, 'sender', senderCount)
    return new WebhookApp(server, own, ids)
  }

  /** Makes an endpoint for messages. @returns its ID */
  async addEndpoint(url: string, settings: object = {}): Promise<number> {
    const body = { url, kinds: ['message.stored'], ...settings }
    return (await this.api.admin().succeed('POST', '/app/webhook/create', { body })).data
      .endpoint_id
  }

  async setState(endpoint_id: number, state: 'enabled' | 'disabled'): Promise<void> {
    await this.api.admin().succeed('POST', '/app/webhook/update', { body: { endpoint_id, state } })
  }

  async removeEndpoint(endpoint_id: number): Promise<void> {
    await this.api.admin().succeed('POST', '/app/webhook/delete', { body: { endpoint_id } })
  }

  /** Sends messages as fast as possible. */
  async fill(messages: number): Promise<void> {
    await fill(portOf(this.server), { ...this.#plan(), requests: messages })
  }

  /** Sends messages at a fixed rate. */
  send(perSecond: number, seconds: number): Promise<LoadResult> {
    const order: LoadOrder = {
      port: portOf(this.server),
      connections,
      perSecond,
      plan: this.#plan(),
      warmUpMs,
      measureMs: seconds * 1000,
      minBodyBytes: 0,
    }
    return load(order)
  }

  #plan(): SendPlan {
    const { appId, adminToken = '' } = this.api.options
    return {
      kind: 'send',
      appId,
      users: this.userIds.map((id) => ({ id, token: adminToken, isOnBehalf: true })),
      offsets: Array.from({ length: 30 }, (_, index) => [index + 1]),
      firstTransaction: transactions(transactionsPerPlan),
    }
  }
}
