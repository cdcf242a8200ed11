/**
 * Texts of users reach no foreign caller, and no foreign caller changes them, whatever operation is
 * called with whatever names: every operation with everything that its parameters name, in every
 * form, over HTTP and over frames (rule C7, decision page 049). The callers have no part in it,
 * have had one, have joined later, or are of another application: users, and one way of calling
 * with its Admin token for each operation. PostgreSQL has one user for each operation, over HTTP.
 * The full run has all of them.
 */
import {
  addContacts,
  addGroupMembers,
  callerRules,
  createGroup,
  deleteContact,
  getGroup,
  int64,
  inviteToGroup,
  issueTokenById,
  kickGroupMembers,
  listAnnouncements,
  listSharedFiles,
  type Operation,
  operations,
  readHistory,
  registerAnonymousUser,
  string,
  syncMessages,
} from '@hermod/protocol'
import { anyBackend, type Backend, GatewayClient, isFullRun } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { ownServer } from '../support/in-process-server.js'
import { type Forms, formsOf } from '../support/walk/walk-forms.js'
import { type Intrusion, intrusionsInto, type Target } from '../support/walk/walk-intrusions.js'
import { type MarkedWorld, type Marker, markedWorld } from '../support/walk/walk-markers.js'
import { namesIn } from '../support/walk/walk-names.js'
import { snapshot } from '../support/walk/walk-snapshot.js'
import {
  type Account,
  type Identity,
  type Params,
  type Tenant,
  WalkWorld,
} from '../support/walk/walk-world.js'

/** Codes of a caller whose own token or account the call before has ended. */
const endOfCaller = [answerCode.token_expired, answerCode.user_disabled, answerCode.user_deleted]
const maxLives = 3

const foreignCallerNames = [
  'a user of another application',
  'a stranger',
  'a former party',
  'a later member',
] as const
const foreignAdminNames = [
  'an Admin of another application, for its own user',
  'an Admin of another application, for the user',
  'an Admin of another application, for no user',
  'an Admin of another application, for the group',
] as const
type ForeignCallerName = (typeof foreignCallerNames)[number] | (typeof foreignAdminNames)[number]

/** False also for operations that need no token, since they do not look at their caller. */
function dependsOnUser({ callers }: Operation): boolean {
  const { tokens } = callerRules[callers]
  return tokens.some((kind) => kind === 'user') && !tokens.some((kind) => kind === 'none')
}

const all = operations.map((operation) => ({ id: operation.id, operation: operation as Operation }))

/** The one of the callers who tries an operation where all of them would take too long. */
function chosenOf<Name>(names: readonly Name[], operation: Operation): Name {
  return names[all.findIndex(({ id }) => id === operation.id) % names.length] as Name
}

/** Tests whether a caller tries an operation over the socket too. */
function isFramed(name: ForeignCallerName, operation: Operation): boolean {
  const isChosen = chosenOf<ForeignCallerName>(foreignCallerNames, operation) === name
  return operation.socket === 'only' || (operation.socket && (isFullRun || isChosen))
}

/** Operations that a foreign caller is tried with. One caller is enough where it makes no difference. */
function operationsFor(name: ForeignCallerName, backend: Backend): typeof all {
  const users: readonly ForeignCallerName[] = foreignCallerNames
  const order = users.includes(name) ? users : foreignAdminNames
  return all.filter(({ operation }) => {
    const isAlways = order === users && dependsOnUser(operation) && backend.name === 'sqlite'
    return isFullRun || isAlways || chosenOf<ForeignCallerName>(order, operation) === name
  })
}

it('every operation: its parameters name what the test knows', () => {
  const unknown = all.flatMap(({ operation }) =>
    namesIn(operation).filter(({ kind }) => kind === undefined),
  )
  expect(unknown).toEqual([])
})

it('a new parameter: is unknown to the test, whatever it is called', () => {
  const body = { thread: string(), parent: int64({ maximum: 5 }), value: int64() }
  const added = { ...readHistory, id: 'added', query: {}, body } as unknown as Operation
  const found = namesIn(added).map(({ path, kind }) => [path, kind])
  expect(found).toEqual(Object.keys(body).map((name) => [`added ${name}`, undefined]))
})

interface ForeignCaller {
  readonly tenant: Tenant
  readonly isNeighbour: boolean
  readonly isMember: boolean
  readonly isOnSocket: boolean
  readonly identity: (person: Account) => Identity
  /** What a new person does before the first call. */
  readonly begin: (person: Account) => Promise<void>
  /** Events and answers that came over earlier connections. */
  readonly frames: unknown[]
  life: Life
}

/** A person of a foreign caller, until a call ends it. */
interface Life {
  readonly person: Account
  readonly forms: Forms
  /** Its connection, whose frames must show nothing. */
  readonly client: GatewayClient | null
}

interface Call {
  readonly method: string
  readonly params: Params
  readonly isFramed: boolean
}

interface Reply {
  readonly code: number
  readonly text: string
}

describe.each(anyBackend())('rights on $name', (backend) => {
  // The end of a message that nobody writes any more is no change by a refused call.
  const settings = { HERMOD_STREAM_SILENT_SECONDS: '3600' }
  const server = ownServer(backend, settings, 'gateway')
  let world: WalkWorld
  let marked: MarkedWorld
  let victims: readonly Account[]
  let pos: string
  let foreignCallers: Readonly<Record<ForeignCallerName, ForeignCaller>>
  let before: readonly unknown[]
  let groupBefore: unknown
  const counts = { operations: new Set<string>(), forms: 0, calls: 0, frames: 0 }
  const cursors = new Map<string, string>()

  beforeAll(async () => {
    world = await WalkWorld.create(server)
    marked = await markedWorld(world)
    const { alice, carol, dave, erin } = marked
    victims = [alice, carol, dave, erin]
    const page = await world.prepare(syncMessages as Operation, withToken(alice), { limit: 1 })
    pos = page?.data.pos
    foreignCallers = await newCallers()
    before = await shown()
    groupBefore = await shownOfGroup()
  })

  afterAll(async () => {
    for (const { life } of Object.values(foreignCallers ?? {})) life.client?.terminate()
  })

  const withToken = ({ token, appId }: Account): Identity => ({ token, appId })

  async function newCallers(): Promise<typeof foreignCallers> {
    const { here, there } = world
    const { groupId: group_id, people } = marked.open
    const by = world.adminFor(people.alice)
    const asAdmin = { token: there.adminToken, appId: there.appId }
    const nothing = async () => {}
    const join = async ({ id }: Account) => {
      await world.prepare(addGroupMembers as Operation, by, { group_id, user_list: [id] })
    }
    const leave = async ({ id }: Account) => {
      await world.prepare(addContacts as Operation, by, { list: [id] })
      await world.prepare(deleteContact as Operation, by, { user_id: id })
      await world.prepare(kickGroupMembers as Operation, by, { group_id, user_list: [id] })
    }
    const caller = async (
      tenant: Tenant,
      identity: ForeignCaller['identity'],
      options: Partial<ForeignCaller> = {},
    ): Promise<ForeignCaller> => {
      const about = {
        ...{ tenant, identity, isNeighbour: tenant === here, isMember: false, begin: nothing },
        isOnSocket: backend.name === 'sqlite' && identity === withToken,
        ...options,
      }
      return { ...about, frames: [], life: await newLife(about) }
    }
    return {
      'a stranger': await caller(here, withToken),
      'a former party': await caller(here, withToken, {
        begin: async (person) => {
          await join(person)
          await leave(person)
        },
      }),
      'a later member': await caller(here, withToken, { begin: join, isMember: true }),
      'a user of another application': await caller(there, withToken),
      'an Admin of another application, for its own user': await caller(there, ({ id }) => ({
        ...asAdmin,
        userId: id,
      })),
      'an Admin of another application, for the user': await caller(there, () => ({
        ...asAdmin,
        userId: marked.alice.id,
      })),
      'an Admin of another application, for no user': await caller(there, () => asAdmin),
      'an Admin of another application, for the group': await caller(there, ({ id }) => ({
        ...asAdmin,
        userId: id,
        groupId: marked.groupId,
      })),
    }
  }

  async function newLife({
    tenant,
    isOnSocket,
    begin,
  }: Pick<ForeignCaller, 'tenant' | 'isOnSocket' | 'begin'>): Promise<Life> {
    const person = await world.newPerson(tenant)
    await begin(person)
    const group = await world.prepare(createGroup as Operation, withToken(person), {
      ...{ name: 'Intruders', type: 0 },
    })
    const forms = formsOf(marked, { user: person.id, group: group?.data.group_id })
    if (!isOnSocket) return { person, forms, client: null }
    const client = await GatewayClient.connect(server.url)
    const opened = await client.open({ appId: person.appId, accessToken: person.token })
    if (opened.code !== 200) throw new Error(JSON.stringify(opened))
    return { person, forms, client }
  }

  /** Everything that the authors see of their own. */
  const shown = () =>
    Promise.all(victims.map((person) => snapshot(world, person, victims, [marked.groupId])))

  /** What the members see of the group that others join and leave. */
  async function shownOfGroup(): Promise<unknown> {
    const { groupId: group_id, people } = marked.open
    const read = async (operation: unknown, params: Params) =>
      (await world.call(operation as Operation, withToken(people.alice), params)).data
    const { name, description, ext, avatar } = await read(getGroup, { group_id })
    return {
      ...{ name, description, ext, avatar },
      announcements: await read(listAnnouncements, { group_id }),
      files: await read(listSharedFiles, { group_id }),
      history: await read(readHistory, { opposite_id: group_id, msg_id_start: 0, limit: 100 }),
    }
  }

  function leaksIn(text: string, { isNeighbour, isMember }: ForeignCaller): Marker[] {
    return marked.markers.filter(
      (marker) =>
        text.includes(marker.text) &&
        !(isNeighbour && marker.audience === 'application') &&
        !(isMember && marker.audience === 'members'),
    )
  }

  /** The cursor of the second page that an author has. */
  async function cursorOf(operation: Operation, params: Params): Promise<string> {
    const isOfOpenGroup = JSON.stringify(params).includes(`${marked.open.groupId}`)
    const author = isOfOpenGroup ? marked.open.people.alice : marked.alice
    const key = `${operation.id} ${author.id}`
    const known = cursors.get(key)
    if (known !== undefined) return known
    const asked = { ...params, limit: 1, list: true, cursor: undefined, after: undefined }
    const { envelope } = await world.call(operation, withToken(author), asked)
    const { data } = envelope
    const cursor = envelope.cursor ?? data?.cursor ?? data?.next_cursor ?? ''
    cursors.set(key, cursor)
    return cursor
  }

  /**
   * The calls of an operation, with places in lists of the authors. Those of operators are called
   * in one form.
   */
  async function intrusions(operation: Operation, { forms }: Life): Promise<Intrusion[]> {
    const { tokens } = callerRules[operation.callers]
    const isOpen = tokens.some((kind) => kind === 'user' || kind === 'admin')
    const tried = Object.entries(forms).slice(0, isOpen ? undefined : 1)
    const hasCursor =
      dependsOnUser(operation) && namesIn(operation).some(({ kind }) => kind === 'cursor')
    const placed = tried.map(async ([form, target]): Promise<[string, Target]> => {
      const [first] = intrusionsInto(operation, { form: target }, () => '')
      const cursor = hasCursor ? await cursorOf(operation, first?.params ?? {}) : undefined
      return [form, { ...target, cursor, pos }]
    })
    const placedForms = Object.fromEntries(await Promise.all(placed))
    return intrusionsInto(operation, placedForms, () => world.newName())
  }

  /** A caller that deleted itself, ended its token, left the group or hid its messages is replaced. */
  async function renew(foreignCaller: ForeignCaller): Promise<void> {
    const { client } = foreignCaller.life
    client?.terminate()
    foreignCaller.frames.push(...(client?.frames ?? []))
    foreignCaller.life = await newLife(foreignCaller)
  }

  /** False too for a member who has deleted the conversation, and so would see none of its texts. */
  async function isMember({ id }: Account): Promise<boolean> {
    const rows = await server.sql.run(
      `select 1 from readers where low_id = ${marked.open.groupId} and user_id = ${id} and hidden_msg_id = 0`,
    )
    return rows.length > 0
  }

  /** The answers to a call, and to the same call over the socket. */
  async function intrude(
    foreignCaller: ForeignCaller,
    operation: Operation,
    { method, params, isFramed }: Call,
  ): Promise<Reply[]> {
    for (let lives = 1; ; lives++) {
      const { person, client } = foreignCaller.life
      counts.calls++
      const identity = foreignCaller.identity(person)
      const answer: Reply = await world.call(operation, identity, params, method)
      if (endOfCaller.includes(answer.code) && lives < maxLives) {
        await renew(foreignCaller)
        continue
      }
      if (!isFramed || !client || client.ended) return [answer]
      counts.frames++
      const frame = await client.call(operation.id, params).catch(() => null)
      return frame ? [answer, { code: frame.code, text: JSON.stringify(frame) }] : [answer]
    }
  }

  /** A new user may name users to be connected with; who makes or has a group may name users to invite. */
  function withoutInvitations(
    operation: Operation,
    { isNeighbour, life }: ForeignCaller,
    params: Params,
  ): Params {
    const opening: readonly string[] = [registerAnonymousUser.id, createGroup.id]
    const inviting: readonly string[] = [inviteToGroup.id, addGroupMembers.id]
    const isOwn = params.group_id === life.forms['the own log of the caller']?.group
    const isInvited =
      isNeighbour && (opening.includes(operation.id) || (inviting.includes(operation.id) && isOwn))
    return isInvited ? { ...params, cid: undefined, user_list: undefined } : params
  }

  it('the authors: read their own texts', async () => {
    const others = Object.values<Account>({ ...marked.open.people })
    const ofOthers = others.map((each) => snapshot(world, each, others, [marked.open.groupId]))
    const texts = JSON.stringify([before, await Promise.all(ofOthers)])
    const missing = marked.markers.filter(
      ({ text, isReadable }) => isReadable && !texts.includes(text),
    )
    expect(missing).toEqual([])
    expect(marked.markers.length).toBeGreaterThan(60)
  })

  const names: readonly ForeignCallerName[] = [...foreignAdminNames, ...foreignCallerNames]

  describe.each(names)('%s', (name) => {
    it.each(operationsFor(name, backend))(
      '$id: shows no text of another user',
      async ({ operation }) => {
        const foreignCaller = foreignCallers[name]
        const { life } = foreignCaller
        if (life.client?.ended || (foreignCaller.isMember && !(await isMember(life.person))))
          await renew(foreignCaller)
        const leaks: string[] = []
        const found = await intrusions(operation, foreignCaller.life)
        counts.operations.add(operation.id)
        counts.forms += new Set(found.map(({ form }) => form)).size
        const byFrames = isFramed(name, operation)
        for (const [index, { form, params }] of found.entries()) {
          const asked = withoutInvitations(operation, foreignCaller, params)
          for (const method of operation.methods.slice(0, index === 0 ? undefined : 1)) {
            const call = { method, params: asked, isFramed: byFrames }
            for (const answer of await intrude(foreignCaller, operation, call)) {
              const said = `${form}: ${method} ${JSON.stringify(asked)} answered ${answer.text.slice(0, 300)}`
              for (const { where } of leaksIn(answer.text, foreignCaller))
                leaks.push(`${where}: ${said}`)
              const isOffered =
                answer.code !== answerCode.not_built && answer.code !== answerCode.socket_needed
              if (answer.code >= answerCode.internal_error && isOffered) leaks.push(said)
            }
          }
        }
        expect(leaks).toEqual([])
      },
    )

    it('events and reads afterwards: show no text of another user', async () => {
      const foreignCaller = foreignCallers[name]
      const { frames, life } = foreignCaller
      const groups = [marked.groupId, marked.open.groupId]
      const reads = await snapshot(world, life.person, victims, groups)
      const text = JSON.stringify([reads, frames, life.client?.frames ?? []])
      expect(leaksIn(text, foreignCaller)).toEqual([])
    })

    it('the group: is unchanged, as long as no foreign caller is a member', async () => {
      if (!foreignCallers[name].isMember) expect(await shownOfGroup()).toEqual(groupBefore)
    })
  })

  it('the authors: find everything unchanged and log in', async () => {
    expect(await shown()).toEqual(before)
    for (const { id, password, appId } of victims) {
      const answer = await world.call(
        issueTokenById as Operation,
        { appId },
        { user_id: id, password },
      )
      expect(answer).toMatchObject({ status: 200, code: 200 })
    }
    const { calls, frames, forms } = counts
    const strangerCursors = [...cursors.values()].filter((cursor) => cursor !== '').length
    console.info(
      `rights on ${backend.name}: ${counts.operations.size} operations, ${forms} forms, ${calls} calls, ${frames} frames, ` +
        `${strangerCursors} cursors of others, ${marked.markers.length} markers`,
    )
  })
})
