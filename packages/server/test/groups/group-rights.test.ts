/**
 * The table of rights in groups, proven: every operation that asks for a right, by every way of
 * calling, on both databases.
 */
import {
  addGroupAdmins,
  banGroupMembers,
  blockGroupUsers,
  type ErrorName,
  errorCatalogue,
  eventsByOperation,
  type GroupRole,
  groupRights,
  kickGroupMembers,
  type Operation,
  operations,
  setMemberInvitation,
  setMemberModification,
  unbanGroupMembers,
  updateSettings,
} from '@hermod/protocol'
import { type Answer, anyBackend, isFullRun, type Json } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  callerKinds,
  type GroupCallerKind,
  type GroupCircumstances,
  isBelow,
  lacksUser,
  needsRight,
  pointlessFor,
  refusalOf,
  roleOf,
} from '../support/groups/group-callers.js'
import { groupSnapshot } from '../support/groups/group-snapshot.js'
import { memberIds, outcomes, types } from '../support/groups/groups.js'
import { sharedServer } from '../support/in-process-server.js'
import {
  type GroupFixture,
  type GroupWalkContext,
  groupParams,
  groupRightFixtures,
  newGroup,
  takes,
} from '../support/walk/walk-fixtures-groups.js'
import { type Account, type Identity, type Params, WalkWorld } from '../support/walk/walk-world.js'

const fixtures = groupRightFixtures
  .filter(needsRight)
  .map((fixture) => ({ ...fixture, id: fixture.operation.id }))
type FixtureWithRight = (typeof fixtures)[number]
const neverIssued = 1

const removes = ({ id }: Operation) => id === kickGroupMembers.id || id === blockGroupUsers.id

/**
 * What came of a call: `left out` when a list of groups does not mention the group, `done` or why
 * not otherwise.
 */
type Outcome = 'done' | 'left out' | ErrorName

interface Stage extends GroupCircumstances {
  readonly name: string
  readonly type: number
  readonly kinds: readonly GroupCallerKind[]
  readonly isInvited?: true
}

const outsiders = callerKinds.filter(({ as }) => as === 'outsider')
const withInvites = { member_invite: true, member_modify: false }
const withChanges = { member_invite: false, member_modify: true }
const closed = {
  isOpen: false,
  isOwnThing: false,
  type: types.private,
  settings: withInvites,
  kinds: callerKinds,
}

const stages: readonly Stage[] = [
  { ...closed, name: 'members may invite' },
  { ...closed, name: 'members may modify', settings: withChanges },
  { ...closed, name: 'a public group', type: types.public, isOpen: true, kinds: outsiders },
  { ...closed, name: 'a chatroom', type: types.chatroom, isOpen: true, kinds: outsiders },
  { ...closed, name: 'a temporary group', type: types.temporary, kinds: outsiders },
  { ...closed, name: 'an invited outsider', isOpen: true, isInvited: true, kinds: outsiders },
]
/**
 * The quick run plays the stages after the first one with the operations whose callers fare
 * otherwise there.
 */
function isPlayed({ operation }: FixtureWithRight, stage: Stage): boolean {
  const isOther = (kind: GroupCallerKind) =>
    refusalOf(kind, operation, stage) !== refusalOf(kind, operation, stages[0] ?? stage)
  return isFullRun || stage === stages[0] || stage.kinds.some(isOther)
}
/** Only where who added a thing matters. */
const ownThings: Stage = {
  ...closed,
  name: 'things of their own',
  isOwnThing: true,
  kinds: callerKinds.filter(({ as }) => as === 'member'),
}

it('has a fixture for every operation that asks for a right', () => {
  const checkedByRights = operations
    .filter((operation: Operation) => operation.right !== undefined)
    .map(({ id }) => id)
  expect(fixtures.map(({ id }) => id).toSorted()).toEqual(checkedByRights.toSorted())
})

describe.each(anyBackend())('the rights in groups on $name', (backend) => {
  const server = sharedServer(backend)
  let world: WalkWorld
  let people: Readonly<Record<GroupRole | 'friend' | 'peer', Account>>
  let calls = 0

  beforeAll(async () => {
    world = await WalkWorld.create(server)
    const [owner, admin, member] = [
      await world.newPerson(),
      await world.newPerson(),
      await world.newPerson(),
    ]
    const [outsider, friend, peer] = [
      await world.newPerson(),
      await world.newPerson(),
      await world.newPerson(),
    ]
    people = { owner, admin, member, outsider, friend, peer }
    await world.prepare(updateSettings, world.adminFor(outsider), {
      user_id: outsider.id,
      group_confirm: true,
    })
  })

  afterAll(async () => {
    console.info(`group rights: ${calls} calls of ${fixtures.length} operations on ${backend.name}`)
  })

  interface GroupOptions {
    readonly type?: number
    readonly settings?: GroupCircumstances['settings']
    readonly isInvited?: true
  }

  /** @returns its ID */
  async function aGroupOfAll({
    type = types.private,
    settings = withInvites,
    isInvited,
  }: GroupOptions = {}): Promise<number> {
    const { owner, admin, peer, member, friend, outsider } = people
    const byOwner = world.adminFor(owner)
    const invited = [admin, peer, member, friend, ...(isInvited ? [outsider] : [])]
    const group_id = await newGroup(world, owner, { type, user_list: invited.map(({ id }) => id) })
    await world.prepare(addGroupAdmins, byOwner, { group_id, user_list: [admin.id, peer.id] })
    if (!settings.member_invite)
      await world.prepare(setMemberInvitation, byOwner, { group_id, value: false })
    if (settings.member_modify)
      await world.prepare(setMemberModification, byOwner, { group_id, value: true })
    return group_id
  }

  /** Valid parameters of a call about the subject. */
  async function paramsOf(
    { operation, params }: GroupFixture,
    group_id: number,
    context: Partial<GroupWalkContext>,
  ): Promise<Params> {
    const { owner: keeper, friend, outsider: subject } = people
    return {
      ...groupParams(operation, group_id),
      ...(await params({ world, keeper, author: keeper, friend, subject, group_id, ...context })),
    }
  }

  function identityOf({ token, as, hasGroupHeader }: GroupCallerKind, group_id: number): Identity {
    const person = as && people[as]
    if (token === 'user') return { appId: world.here.appId, token: person?.token ?? null }
    const user = person === undefined ? {} : { userId: person.id }
    return {
      appId: world.here.appId,
      token: world.here.adminToken,
      ...user,
      ...(hasGroupHeader ? { groupId: group_id } : {}),
    }
  }

  async function callAs(
    { operation }: FixtureWithRight,
    identity: Identity,
    params: Params,
  ): Promise<Outcome> {
    calls++
    return outcomeOf(operation, await world.call(operation, identity, params))
  }

  const call = (
    fixture: FixtureWithRight,
    kind: GroupCallerKind,
    group_id: number,
    params: Params,
  ) => callAs(fixture, identityOf(kind, group_id), params)

  function outcomeOf(operation: Operation, { code, data, text }: Answer): Outcome {
    if (code !== 200) return errorNamed((entry) => entry.code === code, text)
    const results: Json[] = Array.isArray(data) ? data : (data?.list ?? [])
    const failed = results.find(({ result }) => result === 'fail')
    if (failed) return errorNamed((entry) => entry.text === failed.reason, text)
    return takes(operation, 'group_list') && results.length === 0 ? 'left out' : 'done'
  }

  function errorNamed(
    isIt: (entry: { readonly code: number; readonly text: string }) => boolean,
    text: string,
  ): ErrorName {
    const found = Object.entries(errorCatalogue).find(([, entry]) => isIt(entry))
    if (!found) throw new Error(`an unknown error: ${text}`)
    return found[0] as ErrorName
  }

  const refusedAs = (operation: Operation, refusal: ErrorName): Outcome =>
    takes(operation, 'group_list') ? 'left out' : refusal

  /**
   * All kinds that must be refused, on one group, which stays as it is.
   * @returns outcomes by kind, those found and those expected
   */
  async function refuseAll(
    fixture: FixtureWithRight,
    group_id: number,
    params: Params,
    refusals: ReadonlyMap<GroupCallerKind, Outcome>,
  ) {
    const before = await groupSnapshot(server.sql, group_id)
    const kinds = [...refusals.keys()]
    const found = await Promise.all(kinds.map((kind) => call(fixture, kind, group_id, params)))
    expect(await groupSnapshot(server.sql, group_id), 'a refused call changed something').toEqual(
      before,
    )
    expect(byKind(kinds, found)).toEqual(byKind(kinds, [...refusals.values()]))
  }

  function byKind(
    kinds: readonly GroupCallerKind[],
    outcomes: readonly Outcome[],
  ): Record<string, Outcome> {
    return Object.fromEntries(kinds.map(({ name }, index) => [name, outcomes[index] as Outcome]))
  }

  async function playStage(fixture: FixtureWithRight, stage: Stage): Promise<void> {
    const { operation } = fixture
    const expected = new Map(
      stage.kinds.map((kind): [GroupCallerKind, Outcome] => {
        const refusal = refusalOf(kind, operation, stage)
        return [
          kind,
          refusal ? refusedAs(operation, refusal) : (pointlessFor(kind, operation) ?? 'done'),
        ]
      }),
    )
    const refused = new Map([...expected].filter(([, outcome]) => outcome !== 'done'))
    if (refused.size > 0) {
      const group_id = await aGroupOfAll(stage)
      await refuseAll(fixture, group_id, await paramsOf(fixture, group_id, {}), refused)
    }
    const allowed = stage.kinds.filter((kind) => !refused.has(kind))
    // Reads leave the group as it is for the next caller.
    const isRead =
      operation.methods[0] === 'GET' && typeof eventsByOperation[operation.id] === 'string'
    const read = isRead ? await aGroupOfAll(stage) : null
    const found = await Promise.all(
      allowed.map(async (kind) => {
        const group_id = read ?? (await aGroupOfAll(stage))
        const subject = people[kind.as ?? 'outsider']
        const author = stage.isOwnThing ? subject : people.owner
        return call(fixture, kind, group_id, await paramsOf(fixture, group_id, { subject, author }))
      }),
    )
    expect(byKind(allowed, found)).toEqual(
      Object.fromEntries(allowed.map(({ name }) => [name, 'done'])),
    )
  }

  const played = stages.filter((stage) => fixtures.some((fixture) => isPlayed(fixture, stage)))
  describe.each(played)('with $name', (stage) => {
    it.each(fixtures.filter((fixture) => isPlayed(fixture, stage)))(
      'let those call $id who have them, and nobody else',
      async (fixture) => playStage(fixture, stage),
    )
  })

  it.each(fixtures.filter(({ operation }) => 'ownThings' in groupRights[operation.right]))(
    'let members call $id for what they added',
    async (fixture) => playStage(fixture, ownThings),
  )

  it.each(fixtures)(
    'end for $id with the group, except what its members may read',
    async (fixture) => {
      const { operation } = fixture
      const group_id = await aGroupOfAll()
      const params = await paramsOf(fixture, group_id, {})
      await server.api.admin().succeed('POST', '/group/destroy', { query: { group_id } })
      const isReadable = (kind: GroupCallerKind) =>
        operation.right === 'info' && roleOf(kind, operation) !== 'outsider'
      const readers = callerKinds.filter(isReadable)
      await refuseAll(
        fixture,
        group_id,
        params,
        new Map(
          callerKinds
            .filter((kind) => !isReadable(kind))
            .map((kind) => [kind, gone(kind, fixture)]),
        ),
      )
      const found = await Promise.all(readers.map((kind) => call(fixture, kind, group_id, params)))
      expect(byKind(readers, found)).toEqual(
        Object.fromEntries(readers.map(({ name }) => [name, 'done'])),
      )
    },
  )

  const gone = (kind: GroupCallerKind, { operation }: FixtureWithRight): Outcome =>
    lacksUser(kind, operation) ? 'invalid_parameter' : refusedAs(operation, 'group_not_found')

  const aboutOneGroup = fixtures.filter(
    ({ operation }) => takes(operation, 'group_id') || takes(operation, 'group_list'),
  )

  it.each(aboutOneGroup)('are none for $id in a group that never was', async (fixture) => {
    const group_id = await aGroupOfAll()
    const params = {
      ...(await paramsOf(fixture, group_id, {})),
      ...groupParams(fixture.operation, neverIssued),
    }
    const found = await Promise.all(
      callerKinds.map((kind) => call(fixture, kind, neverIssued, params)),
    )
    expect(byKind(callerKinds, found)).toEqual(
      byKind(
        callerKinds,
        callerKinds.map((kind) => gone(kind, fixture)),
      ),
    )
  })

  it.each(aboutOneGroup)('stop for $id at the group that the header names', async (fixture) => {
    const [group_id, another] = [await aGroupOfAll(), await aGroupOfAll()]
    const params = await paramsOf(fixture, group_id, {})
    const before = await groupSnapshot(server.sql, group_id)
    const isRefused = ({ as }: GroupCallerKind) =>
      as === undefined || as === 'outsider' || takes(fixture.operation, 'group_id')
    const kinds = callerKinds.filter((kind) => kind.hasGroupHeader && isRefused(kind))
    const found = await Promise.all(
      kinds.map((kind) => callAs(fixture, identityOf(kind, another), params)),
    )
    const refused = (kind: GroupCallerKind) =>
      lacksUser(kind, fixture.operation)
        ? 'invalid_parameter'
        : refusedAs(fixture.operation, 'no_permission')
    expect(byKind(kinds, found)).toEqual(byKind(kinds, kinds.map(refused)))
    expect(await groupSnapshot(server.sql, group_id)).toEqual(before)
  })

  const overLower = fixtures.filter(({ operation }) => 'overLower' in groupRights[operation.right])
  const moderators = callerKinds.filter(
    ({ as, hasGroupHeader }) => !(as === 'outsider' && hasGroupHeader),
  )
  const onUsers = overLower.flatMap((fixture) =>
    moderators.map((kind) => ({ ...fixture, kind, by: kind.name })),
  )

  it.each(onUsers)(
    'let $by call $id for others of a lower role only',
    async ({ operation, kind }) => {
      const { owner, admin, peer, member, friend, outsider } = people
      const group_id = await aGroupOfAll()
      const byOwner = server.api.admin({ userId: owner.id })
      const members = { owner, admin, peer, member, friend }
      const targets = { ...members, outsider }
      const roles = {
        owner: 'owner',
        admin: 'admin',
        peer: 'admin',
        member: 'member',
        friend: 'member',
        outsider: 'outsider',
      } as const
      const user_list = Object.values(targets).map(({ id }) => id)
      const bannedBefore = [member, friend].map(({ id }) => id)
      if (operation.id === unbanGroupMembers.id)
        await world.prepare(banGroupMembers, world.adminFor(owner), {
          group_id,
          user_list: bannedBefore,
          duration: 5,
        })
      const before = await groupSnapshot(server.sql, group_id)

      const answer = await world.call(operation, identityOf(kind, group_id), {
        group_id,
        user_list,
        duration: 5,
      })
      const role = roleOf(kind, operation)
      if (isBelow(role, 'admin')) {
        expect(outcomeOf(operation, answer)).toBe('group_admin_required')
        expect(await groupSnapshot(server.sql, group_id)).toEqual(before)
        return
      }
      const mayBeOutsider = operation.id === blockGroupUsers.id
      const expected = Object.entries(roles).map(([name, other]) => {
        if (name === kind.as || !isBelow(other, role)) return [name, 'no_permission']
        return [name, other === 'outsider' && !mayBeOutsider ? 'not_group_member' : null]
      })
      const reasons = Object.fromEntries(
        expected.map(([name, error]) => [name, error && errorCatalogue[error as ErrorName].text]),
      )
      const found = outcomes(answer)
      expect(
        Object.fromEntries(Object.entries(targets).map(([name, { id }]) => [name, found[id]])),
      ).toEqual(reasons)

      const hit = Object.values(targets).filter(({ id }) => found[id] === null)
      const left = Object.values(members).filter((person) =>
        removes(operation) ? !hit.includes(person) : true,
      )
      expect((await memberIds(byOwner, group_id)).toSorted()).toEqual(
        left.map(({ id }) => id).toSorted(),
      )
      const hitIds = hit.map(({ id }) => id)
      const stillBanned =
        operation.id === unbanGroupMembers.id
          ? bannedBefore.filter((id) => !hitIds.includes(id))
          : []
      const banned = operation.id === banGroupMembers.id ? hitIds : stillBanned
      const { data } = await byOwner.succeed('GET', '/group/banned_list', { query: { group_id } })
      expect(data.map(({ user_id }: Json) => user_id).toSorted()).toEqual(banned.toSorted())
    },
  )

  it('stand on operations that are all built', () => {
    expect(
      fixtures.map(({ operation }) => operation).filter((operation) => !world.isBuilt(operation)),
    ).toEqual([])
  })
})
