/** The people of the rows of one run, their devices, and what they do before a call. */
import {
  addContacts,
  addGroupMembers,
  featureNames,
  kickGroupMembers,
  type Operation,
  setReadAck,
} from '@hermod/protocol'
import {
  type Answer,
  type Envelope,
  GatewayClient,
  type GatewayFrame,
  type Json,
  type Session,
  waitFor,
} from '@hermod/testkit'
import type { InProcessServer } from '../../support/in-process-server.js'
import { sendText } from '../../support/messaging/messaging.js'
import { type Answers, readAnswers } from '../../support/realtime/answers.js'
import { UserStore } from '../../support/realtime/user-store.js'
import { type Identity, type Params, requestOf } from '../../support/walk/walk-world.js'

/** Roles of the people whose devices are compared with the server. */
export const watched = ['actor', 'friend', 'member', 'admin', 'keeper'] as const
export type WatchedRole = (typeof watched)[number]
export type Role = WatchedRole | 'outsider'

export interface GroupOptions {
  /** Default: the owner. null: not in the group. */
  readonly actor?: 'owner' | 'admin' | 'member' | null
  /** Default: true. */
  readonly hasFriend?: boolean
  /** Turns read_ack on; then the outsider asks all members for a receipt before it leaves. Default: false. */
  readonly hasReadAck?: boolean
  /** Further parameters of `/group/create`. */
  readonly more?: Params
}

const patience = { timeoutMs: 10_000 }
const chatroom = 2

/** A user with one connected device. */
export class Watcher implements Disposable {
  #taken = 0

  private constructor(
    readonly session: Session,
    readonly client: GatewayClient,
  ) {}

  static async open(server: InProcessServer, session: Session): Promise<Watcher> {
    const client = await GatewayClient.connect(server.url)
    await client
      .open({ appId: server.appId, accessToken: session.token, features: featureNames })
      .then(expectCode200)
    return new Watcher(session, client)
  }

  get id(): number {
    return this.session.id
  }

  /** The frames since the last {@link take}. */
  get received(): GatewayFrame[] {
    return this.client.frames.slice(this.#taken)
  }

  take(): GatewayFrame[] {
    const { received } = this
    this.#taken += received.length
    return received
  }

  async sees(marker: string): Promise<void> {
    const isThere = () =>
      this.client.ended !== null ||
      this.client.events.some(({ data }) => data?.content === marker) ||
      undefined
    await waitFor(isThere, { what: `${marker} at user ${this.id}`, ...patience })
  }

  [Symbol.dispose](): void {
    this.client[Symbol.dispose]()
  }
}

let markers = 0

/**
 * A user with two devices, the actor, who calls with the first one; a contact, the friend; people
 * who share groups with them; and an outsider, who has left each of the groups.
 */
export class Cast implements Disposable {
  /** Groups of the present row. */
  #groups: number[] = []
  #keeperOwns = false
  /** Groups of the rows before, which are not read again. */
  readonly #passedGroups = new Set<number>()
  #chatrooms = new Set<number>()

  private constructor(
    readonly server: InProcessServer,
    readonly watchers: Readonly<Record<Role, Watcher>>,
    /** The first device of the actor. */
    readonly phone: Session,
    /** The actor without a device, which displaces none. */
    private readonly browser: Session,
  ) {}

  static async create(server: InProcessServer): Promise<Cast> {
    const { api } = server
    const names = Array.from({ length: 6 }, () => newName())
    const accounts = await api.addUsers(names)
    const [actor, ...others] = accounts
    if (!actor) throw new Error('no users were made')
    const phone = await api.login(actor, 'phone')
    const tablet = await api.login(actor, 'tablet')
    const sessions = [tablet, ...(await Promise.all(others.map((each) => api.sessionOf(each))))]
    const opened = await Promise.all(sessions.map((session) => Watcher.open(server, session)))
    const roles: readonly Role[] = [...watched, 'outsider']
    const watchers = Object.fromEntries(roles.map((role, index) => [role, opened[index]]))
    const cast = new Cast(
      server,
      watchers as Record<Role, Watcher>,
      phone,
      await api.sessionOf(actor),
    )
    await cast.given(addContacts, { list: [cast.friend] })
    return cast
  }

  get actor(): number {
    return this.phone.id
  }

  get friend(): number {
    return this.watchers.friend.id
  }

  get member(): number {
    return this.watchers.member.id
  }

  get admin(): number {
    return this.watchers.admin.id
  }

  get keeper(): number {
    return this.watchers.keeper.id
  }

  private get outsider(): number {
    return this.watchers.outsider.id
  }

  /** Calls an operation with its parameters where the contract puts them. */
  call(operation: unknown, params: Params, identity: Identity = {}): Promise<Answer> {
    const each = operation as Operation
    const method = each.methods[0] as string
    return this.server.api.call(method, each.path, {
      ...requestOf(each, method, params),
      token: this.phone.token,
      ...identity,
    })
  }

  /** Prepares a row: as {@link call}, with the application's Admin token for the user. */
  async given(operation: unknown, params: Params, userId = this.actor): Promise<Envelope> {
    const answer = await this.call(operation, params, { token: this.server.adminToken, userId })
    if (answer.code !== 200) throw new Error(`a preparation answered ${answer.text}`)
    return answer.envelope
  }

  /** Makes a group with member and admin in it; the keeper owns it unless the actor does. @returns its ID */
  async group(options: GroupOptions = {}): Promise<number> {
    const { actor = 'owner', hasFriend = true, hasReadAck = false, more } = options
    const { server, keeper, admin, member, friend } = this
    const ownerId = actor === 'owner' ? this.actor : keeper
    if (ownerId === keeper) this.#keeperOwns = true
    const owner = server.api.admin({ userId: ownerId })
    const { data } = await owner.succeed('POST', '/group/create', {
      body: { name: 'Group', type: 0, ...more },
    })
    const group_id: number = data.group_id
    const members = [member, admin]
    if (hasFriend) members.push(friend)
    if (actor === 'owner') members.push(keeper)
    else if (actor !== null) members.push(this.actor)
    const admins = actor === 'admin' ? [admin, this.actor] : [admin]
    for (const [path, user_list] of [
      ['member_join', members],
      ['add', admins],
    ] as const)
      await owner.succeed('POST', `/group/admin/${path}`, { body: { group_id, user_list } })
    await this.#leave(group_id, ownerId, hasReadAck)
    this.#groups.push(group_id)
    if (more?.type === chatroom) this.#chatrooms.add(group_id)
    return group_id
  }

  /** The outsider joins and is removed. */
  async #leave(group_id: number, ownerId: number, hasReadAck: boolean): Promise<void> {
    const user_list = [this.outsider]
    await this.given(addGroupMembers, { group_id, user_list }, ownerId)
    if (hasReadAck) {
      const config = { groupMemberList: watched.map((role) => this.watchers[role].id) }
      await this.given(setReadAck, { group_id, value: true }, ownerId)
      await this.message(group_id, this.outsider, { type: 2, config: JSON.stringify(config) })
    }
    await this.given(kickGroupMembers, { group_id, user_list }, ownerId)
  }

  /** Sends a text by the sender, default the actor, to the target. @returns its ID */
  message(target: number, senderId = this.actor, extras: Params = {}): Promise<number> {
    return sendText(this.server.api.admin({ userId: senderId }), target, 'hello', extras)
  }

  /** Waits until the devices of these roles, default all, have received everything committed before. */
  async settle(roles: readonly Role[] = [...watched, 'outsider']): Promise<void> {
    const marker = `marker ${++markers}`
    const watchers = roles.map((role) => this.watchers[role])
    const targets = watchers.filter(({ client }) => client.ended === null).map(({ id }) => id)
    await this.server.api.admin().succeed('POST', '/message/notify', {
      body: { type: 1, content_type: 0, content: marker, targets },
    })
    await Promise.all(watchers.map((each) => each.sees(marker)))
  }

  /** The present pos of a user. */
  async posOf(role: Role): Promise<string> {
    const body = { after: '', list: true, limit: 1, window: 0 }
    const { data } = await this.watchers[role].session.api.succeed('POST', '/message/sync', {
      body,
    })
    return data.pos
  }

  /** Opens another session of a user at a pos. @returns true when the server answers `current` */
  async isCurrent(role: Role, pos: string): Promise<boolean> {
    const { token } = role === 'actor' ? this.browser : this.watchers[role].session
    using client = await GatewayClient.connect(this.server.url)
    const { data } = await client.open({ appId: this.server.appId, accessToken: token, pos })
    return data.sync === 'current'
  }

  /** Forgets the groups of the rows before. */
  async begin(): Promise<void> {
    for (const group of this.#groups) this.#passedGroups.add(group)
    this.#groups = []
    this.#keeperOwns = false
    const { data } = await this.watchers.actor.session.api.succeed('GET', '/group/user_joined')
    for (const group of data) this.#passedGroups.add(Number(group))
  }

  /** Roles of the present row; the keeper is a member like others where the actor is the owner. */
  get roles(): readonly WatchedRole[] {
    return watched.filter((role) => role !== 'keeper' || this.#keeperOwns)
  }

  answersOf(role: Role): Promise<Answers> {
    const { id, api } = this.watchers[role].session
    const peers = watched.map((each) => this.watchers[each].id).filter((each) => each !== id)
    return readAnswers({ id, api, peers, groups: this.#groups, passedGroups: this.#passedGroups })
  }

  storeOf(role: Role, answers: Answers): UserStore {
    return new UserStore(this.watchers[role].id, answers, this.#chatrooms)
  }

  /** Applies the pages of sync that a device gets that was offline since the answers. */
  async catchUp(role: Role, store: UserStore, { pos }: Answers): Promise<void> {
    const { api } = this.watchers[role].session
    const post = async (path: string, body: object): Promise<Json> =>
      (await api.succeed('POST', path, { body })).data
    const changesOf = (log: object, after_change: number) =>
      post('/message/changes', { log, after_change })
    let after = pos
    for (let more = true; more; ) {
      const page = await post('/message/sync', { after })
      if (page.list) throw new Error('sync answered a list instead of what has changed')
      await store.applyPage(page, changesOf)
      after = page.pos
      more = page.more
    }
  }

  [Symbol.dispose](): void {
    for (const watcher of Object.values(this.watchers)) watcher[Symbol.dispose]()
  }
}

let names = 0
/** Returns an unused text, fit for a username. */
export const newName = (prefix = 'cast'): string => `${prefix}_${++names}`

export const isMarker = ({ data }: GatewayFrame): boolean =>
  typeof data?.content === 'string' && data.content.startsWith('marker ')

function expectCode200(answer: Envelope): void {
  if (answer.code !== 200) throw new Error(`session.open answered ${JSON.stringify(answer)}`)
}
