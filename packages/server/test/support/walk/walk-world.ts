/**
 * Two applications with people in them, and calls of any operation with parameters that are put
 * where the contract puts them.
 */
import { createApp, isWholeBody, type Operation, operations, updateApp } from '@hermod/protocol'
import {
  type Answer,
  type Api,
  type CallOptions,
  type Envelope,
  type Json,
  sharedPassword,
} from '@hermod/testkit'
import type { TestServer } from '../watched-server.js'

/** Parameters by name, wherever the contract puts them. */
export type Params = Readonly<Record<string, unknown>>
export type Identity = Pick<CallOptions, 'token' | 'userId' | 'groupId' | 'appId' | 'headers'>

export interface Tenant {
  readonly appId: string
  readonly adminToken: string
}

/** A user who is logged in. */
export interface Account {
  readonly appId: string
  readonly id: number
  readonly username: string
  readonly password: string
  readonly token: string
}

export interface AccountOptions {
  readonly username?: string
  readonly password?: string
  readonly userAgent?: string
}

/** Stands for what an operation that is not built yet would have given. */
export const placeholderId = 1
const strangersPerBatch = 25

export class WalkWorld {
  readonly server: TestServer
  readonly operator: Identity
  readonly here: Tenant
  readonly there: Tenant
  /** The operator has disabled it. */
  readonly closed: Tenant
  /** Ids of the operations that answer not_built, as the contract document says. */
  readonly planned: ReadonlySet<string>
  readonly #api: Api
  readonly #run = Date.now().toString(36)
  #names = 0
  #strangers: number[] = []

  private constructor(
    server: TestServer,
    planned: ReadonlySet<string>,
    tenants: Pick<WalkWorld, 'here' | 'there' | 'closed'>,
  ) {
    this.server = server
    this.#api = server.api
    this.planned = planned
    this.operator = { token: server.operatorToken, appId: null }
    this.here = tenants.here
    this.there = tenants.there
    this.closed = tenants.closed
  }

  static async create(server: TestServer): Promise<WalkWorld> {
    const { paths } = JSON.parse((await server.api.call('GET', '/openapi.json')).text) as Json
    const documented = Object.values<Json>(paths).flatMap((path) => Object.values<Json>(path))
    const planned = documented
      .filter((each) => each['x-hermod-status'] === 'planned')
      .map((each) => each['x-hermod-operation'])
    const newTenant = async (appId: string): Promise<Tenant> => {
      const body = { app_id: appId }
      const { data } = await server.api
        .as(server.operatorToken)
        .succeed('POST', createApp.path, { body })
      return { appId, adminToken: data.admin_token }
    }
    const here = { appId: server.appId, adminToken: server.adminToken }
    return new WalkWorld(server, new Set(planned), {
      here,
      there: await newTenant('there'),
      closed: await newTenant('closed'),
    })
  }

  /** A text that nobody else uses; fit for a username. */
  newName(prefix = 'walk'): string {
    return `${prefix}_${this.#run}_${++this.#names}`
  }

  isBuilt({ id }: Operation): boolean {
    return !this.planned.has(id)
  }

  call(
    operation: Operation,
    identity: Identity,
    params: Params = {},
    method = operation.methods[0] as string,
  ): Promise<Answer> {
    return this.#api.call(method, operation.path, {
      ...requestOf(operation, method, params),
      ...identity,
    })
  }

  /** The envelope of a call that must succeed; null when the operation is not built yet. */
  async prepare(
    operation: Operation,
    identity: Identity,
    params: Params = {},
  ): Promise<Envelope | null> {
    if (!this.isBuilt(operation)) return null
    const answer = await this.call(operation, identity, params)
    if (answer.code !== 200)
      throw new Error(`${operation.id} as a preparation answered ${answer.text}`)
    return answer.envelope
  }

  /** With the Admin token of the person's application, for the person. */
  adminFor({ appId, id }: Pick<Account, 'appId' | 'id'>): Identity {
    return { appId, token: this.#tenantOf(appId).adminToken, userId: id }
  }

  /** Logged in with a device, whose device_sn is 1. */
  async newPerson(
    { appId }: Pick<Tenant, 'appId'> = this.here,
    options: AccountOptions = {},
  ): Promise<Account> {
    const { username = this.newName(), password = sharedPassword, userAgent = 'walk' } = options
    const { id } = await this.#api.register(username, password, appId)
    const body = { user_id: id, password, device_guid: this.newName('guid') }
    const record = await this.#api.succeed('POST', '/token/id', {
      appId,
      body,
      headers: { 'user-agent': userAgent },
    })
    return { appId, id, username, password, token: record.data.token }
  }

  /** The ID of a user of the first application whom nobody has had to do with. */
  async stranger(): Promise<number> {
    if (this.#strangers.length === 0) {
      const names = Array.from({ length: strangersPerBatch }, () => this.newName('stranger'))
      const added = await this.#api.addUsers(names, this.here.appId)
      this.#strangers = added.map(({ id }) => id)
    }
    return this.#strangers.pop() ?? placeholderId
  }

  /** Everybody in the third application must be there by now. */
  async close(): Promise<void> {
    await this.prepare(updateApp, this.operator, { app_id: this.closed.appId, status: 1 })
  }

  #tenantOf(appId: string): Tenant {
    return [this.here, this.there, this.closed].find((each) => each.appId === appId) ?? this.here
  }
}

/** Every operation with each of its methods. */
export const everyMethod = operations.flatMap((operation) =>
  operation.methods.map((method) => ({ operation, method })),
)

/** Puts parameters where the contract puts them. */
export function requestOf(
  operation: Operation,
  method: string,
  params: Params,
): Pick<CallOptions, 'query' | 'body'> {
  const { query, body } = operation
  if (isWholeBody(body)) return { body: params[body.whole] }
  const at = (isQuery: boolean) =>
    Object.entries(params).filter(([name]) => isQuery === (method === 'GET' || name in query))
  const inBody = at(false)
  return {
    query: Object.fromEntries(at(true)) as NonNullable<CallOptions['query']>,
    ...(method === 'GET' || inBody.length === 0 ? {} : { body: Object.fromEntries(inBody) }),
  }
}
