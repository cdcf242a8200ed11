/**
 * The devices that pushes reach after logins, binds, kicks and other ends of logins, against a
 * model of rule D6a.
 */
import { PushSimulator } from '@hermod/push-simulator'
import {
  type Account,
  type Api,
  anyBackend,
  type LoginSession,
  sharedPassword,
} from '@hermod/testkit'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { checkProperty, propertyTimeoutMs } from '../support/check-property.js'
import { PeoplePool } from '../support/contacts.js'
import { type InProcessServer, ownServer } from '../support/in-process-server.js'
import { PushWorld } from '../support/push/push-world.js'

const devicesPerUser = 2
const userCount = 2
/** One more than a user may have. */
const guids = ['a', 'b', 'c'] as const
/** Fewer than devices, so that tokens move between them. */
const tokens = ['t', 'u', 'v'] as const

const commands = {
  login: 8,
  bind: 6,
  bindByAdmin: 6,
  unbind: 2,
  kick: 4,
  kickAll: 2,
  remove: 2,
  changePassword: 4,
  reset: 1,
  disable: 1,
  enable: 3,
} as const

interface Command {
  readonly kind: keyof typeof commands
  readonly user: number
  /** null: a login without a device */
  readonly guid: (typeof guids)[number] | null
  readonly token: (typeof tokens)[number]
  /** Which of the user's sessions calls. */
  readonly session: number
}

interface ModelSession {
  guid: string | null
  isLive: boolean
}

interface ModelDevice {
  /** Grows with each login. */
  usedAt: number
}

interface Holder {
  readonly user: number
  readonly guid: string
  isSilent: boolean
}

/** What the rule says of devices and tokens. */
class Model {
  readonly users = Array.from({ length: userCount }, () => ({
    isDisabled: false,
    devices: new Map<string, ModelDevice>(),
    sessions: [] as ModelSession[],
  }))
  readonly holders = new Map<string, Holder>()
  #logins = 0

  /** @returns the code that the call is answered with */
  step({ kind, user, guid, token, session }: Command): number {
    const own = this.users[user] as Model['users'][number]
    const caller = own.sessions[session % Math.max(own.sessions.length, 1)]
    const has = guid !== null && own.devices.has(guid)
    switch (kind) {
      case 'login':
        return own.isDisabled ? answerCode.user_disabled : this.#login(user, guid)
      case 'bind':
      case 'bindByAdmin':
        if (kind === 'bind' && !caller?.isLive) return answerCode.token_expired
        if (guid === null || !has) return answerCode.device_not_found
        if (kind === 'bind' && caller) caller.guid ??= guid
        for (const [other, holder] of this.holders)
          if (other !== token && isOf(holder, user, guid) && !holder.isSilent)
            this.holders.delete(other)
        this.holders.set(token, { user, guid, isSilent: false })
        return 200
      case 'unbind':
      case 'remove':
        if (guid === null || !has) return answerCode.device_not_found
        for (const [other, holder] of this.holders)
          if (isOf(holder, user, guid)) this.holders.delete(other)
        if (kind === 'unbind') return 200
        own.devices.delete(guid)
        this.#end(user, (each) => each.guid === guid)
        return 200
      case 'kick':
        if (guid === null || !has) return answerCode.device_not_found
        this.#silence(user, (each) => each === guid)
        this.#end(user, (each) => each.guid === guid)
        return 200
      case 'changePassword':
        if (!caller?.isLive) return answerCode.token_expired
        this.#silence(user, (each) => each !== caller.guid)
        this.#end(user, (each) => each !== caller)
        return 200
      case 'kickAll':
      case 'reset':
      case 'disable':
        if (kind === 'disable') own.isDisabled = true
        this.#silence(user, () => true)
        this.#end(user, () => true)
        return 200
      case 'enable':
        own.isDisabled = false
        return 200
    }
  }

  /**
   * The tokens that pushes reach; a disabled user gets none, also where an administrator has bound
   * a token since.
   */
  reached(): string[] {
    return [...this.holders]
      .flatMap(([token, { user, isSilent }]) =>
        isSilent || this.users[user]?.isDisabled ? [] : [token],
      )
      .sort()
  }

  #login(user: number, guid: string | null): number {
    const { devices, sessions } = this.users[user] as Model['users'][number]
    sessions.push({ guid, isLive: true })
    if (guid === null) return 200
    devices.set(guid, { usedAt: ++this.#logins })
    for (const [token, holder] of this.holders)
      if (isOf(holder, user, guid) && holder.isSilent) {
        // The device has bound another token of the certificate since, which stays.
        const isReplaced = [...this.holders.values()].some(
          (each) => isOf(each, user, guid) && !each.isSilent,
        )
        if (isReplaced) this.holders.delete(token)
        else holder.isSilent = false
      }
    const surplus = [...devices].sort(([, a], [, b]) => b.usedAt - a.usedAt).slice(devicesPerUser)
    for (const [displaced] of surplus) {
      this.#silence(user, (each) => each === displaced)
      this.#end(user, (each) => each.guid === displaced)
      devices.delete(displaced)
    }
    return 200
  }

  #silence(user: number, which: (guid: string) => boolean): void {
    for (const [token, holder] of this.holders) {
      if (holder.user !== user || holder.isSilent || !which(holder.guid)) continue
      // A device has one token of a certificate, silent or not.
      for (const [other, each] of this.holders)
        if (other !== token && isOf(each, user, holder.guid)) this.holders.delete(other)
      holder.isSilent = true
    }
  }

  #end(user: number, which: (session: ModelSession) => boolean): void {
    for (const session of this.users[user]?.sessions ?? [])
      if (which(session)) session.isLive = false
  }
}

function isOf(holder: Holder, user: number, guid: string): boolean {
  return holder.user === user && holder.guid === guid
}

const kinds = Object.keys(commands) as Command['kind'][]
const histories = fc.array(
  fc.record({
    kind: fc.oneof(
      ...kinds.map((kind) => ({ weight: commands[kind], arbitrary: fc.constant(kind) })),
    ),
    user: fc.nat(userCount - 1),
    guid: fc.oneof(
      { weight: 9, arbitrary: fc.constantFrom(...guids) },
      { weight: 1, arbitrary: fc.constant(null) },
    ),
    token: fc.constantFrom(...tokens),
    session: fc.nat(3),
  }),
  { minLength: 4, maxLength: 16, size: 'max' },
)
/** What the users do first: each device has a token. */
const beginning: readonly Command[] = [
  ...(['login', 'bindByAdmin'] as const).flatMap((kind) => [
    { kind, user: 0, guid: 'a', token: 't', session: 0 } as const,
    { kind, user: 0, guid: 'b', token: 'u', session: 0 } as const,
    { kind, user: 1, guid: 'a', token: 'v', session: 0 } as const,
  ]),
]

/** Does to the service what {@link Model} does to its state. */
class Devices {
  readonly #sessions = new Map<number, LoginSession[]>()
  readonly #serials = new Map<string, number>()
  readonly #passwords = new Map<number, string>()

  constructor(
    private readonly server: InProcessServer,
    private readonly people: readonly Account[],
    private readonly suffix: string,
  ) {}

  async perform({ kind, user, guid, token, session }: Command): Promise<number> {
    // Logins of one millisecond have no order.
    this.server.clock.set(this.server.clock.now() + 10)
    const { api } = this.server
    const account = this.people[user] as Account
    const admin = api.admin({ userId: account.id })
    const sessions = this.#sessions.get(user) ?? []
    const caller = sessions[session % Math.max(sessions.length, 1)]
    const device_sn = await this.#serialOf(admin, user, guid)
    switch (kind) {
      case 'login':
        return this.#login(user, guid)
      case 'bind':
      case 'bindByAdmin':
        return this.#code(kind === 'bind' ? caller?.api : admin, '/user/token/bind', {
          body: { device_sn, device_token: token + this.suffix, notifier_name: 'vendor_h' },
        })
      case 'unbind':
        return this.#code(admin, '/user/token/unbind', { query: { deviceSn: device_sn } })
      case 'remove':
        return this.#code(admin, '/user/device/remove', { query: { device_sn } })
      case 'kick':
        return this.#code(admin, '/user/kick', { query: { device_sn } })
      case 'kickAll':
        return this.#code(admin, '/user/kick')
      case 'changePassword': {
        const new_password = this.#nextPassword(user)
        const body = { old_password: this.#passwordOf(user), new_password }
        const code = await this.#code(caller?.api, '/user/change_password', { body })
        if (code === 200) this.#passwords.set(user, new_password)
        return code
      }
      case 'reset': {
        const password = this.#nextPassword(user)
        this.#passwords.set(user, password)
        return this.#code(admin, '/user/change_password_admin', { body: { password } })
      }
      case 'disable':
      case 'enable': {
        const { code } = await api.admin().call('PUT', `/user/${kind}`, {
          body: { list: [account.id] },
        })
        return code
      }
    }
  }

  async #login(user: number, guid: string | null): Promise<number> {
    const account = this.people[user] as Account
    const body = {
      user_id: account.id,
      password: this.#passwordOf(user),
      ...(guid === null ? {} : { device_guid: guid }),
    }
    const { api } = this.server
    const { code, envelope } = await api.call('POST', '/token/id', { body })
    if (code !== 200) return code
    const record = (envelope as { data: LoginSession['record'] }).data
    const session = { ...account, token: record.token, record, api: api.as(record.token) }
    this.#sessions.set(user, [...(this.#sessions.get(user) ?? []), session as LoginSession])
    if (guid !== null) {
      const { data } = await session.api.succeed('GET', '/user/device/list')
      const known = new Set(
        [...this.#serials].flatMap(([name, sn]) => (name.startsWith(`${user} `) ? [sn] : [])),
      )
      const fresh = data.find((each: { device_sn: number }) => !known.has(each.device_sn))
      if (fresh) this.#serials.set(`${user} ${guid}`, fresh.device_sn)
    }
    return code
  }

  /** The serial number of the device; one that the user does not have for one that is not there. */
  async #serialOf(admin: Api, user: number, guid: string | null): Promise<number> {
    const serial = this.#serials.get(`${user} ${guid}`) ?? 999
    const { data } = await admin.succeed('GET', '/user/device/list')
    return data.some((each: { device_sn: number }) => each.device_sn === serial) ? serial : 999
  }

  #passwordOf(user: number): string {
    return this.#passwords.get(user) ?? (this.people[user] as Account).password
  }

  #nextPassword(user: number): string {
    return `${this.#passwordOf(user).slice(0, 100)}+`
  }

  async #code(caller: Api | undefined, path: string, options: object = {}): Promise<number> {
    if (!caller) return answerCode.token_expired
    return (await caller.call('POST', path, options)).code
  }
}

describe.each(anyBackend())('devices that pushes reach on $name', (backend) => {
  const server = ownServer(backend, {
    HERMOD_DEVICES_PER_USER: String(devicesPerUser),
  })
  let simulator: PushSimulator
  let world: PushWorld
  let pool: PeoplePool
  let runs = 0

  beforeAll(async () => {
    simulator = await PushSimulator.start()
    world = new PushWorld(server, simulator)
    await world.setCertificates(['vendor_h'])
    pool = new PeoplePool(server, userCount * 10)
  })
  afterAll(async () => {
    await simulator?.[Symbol.asyncDispose]()
  })

  /** The tokens that a push to these users reaches. */
  async function reached(people: readonly Account[]): Promise<string[]> {
    const { calls } = simulator.gateways.vendor_h
    const before = calls.length
    const taskId = await world.notify({
      audience: { user_id: people.map(({ id }) => id) },
      message: { type: 'text', title: 'Hi', body: 'There' },
    })
    await world.hasEnded(taskId)
    return calls
      .slice(before)
      .flatMap(({ path, body }) =>
        path.endsWith('messages:send') ? (JSON.parse(body).message.token as string[]) : [],
      )
      .map((token) => token.slice(0, 1))
      .sort()
  }

  it('push: after any logins, binds and ends of logins it reaches the devices of the model', {
    timeout: propertyTimeoutMs,
  }, async () => {
    const property = fc.asyncProperty(histories, async (history) => {
      const taken = await pool.take(userCount)
      const people = taken.map((person) => ({ ...person, password: sharedPassword }))
      const devices = new Devices(server, people, ` of ${++runs}`)
      const model = new Model()
      for (const command of [...beginning, ...history])
        expect(await devices.perform(command), JSON.stringify(command)).toBe(model.step(command))
      expect(await reached(people)).toEqual(model.reached())
    })
    await checkProperty(backend, property, { share: 0.4 })
  })
})
