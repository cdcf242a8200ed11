/**
 * Many callers at once, on both databases. Every storm has an outcome of its own to prove, and
 * after each the invariants of groups hold (support/groups/group-invariants.ts). HERMOD_TEST_SEED
 * repeats the choices of the test; the machine decides the rest.
 */
import { type Api, type Backend, isFullRun, parallelBackend, waitFor } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { changeSettings, codes, type Person, registerPeople } from '../support/contacts.js'
import { openSql, type Sql } from '../support/database/sql.js'
import { GroupWatch } from '../support/groups/group-invariants.js'
import { type Speaker, sendToGroup, speakers } from '../support/groups/group-messaging.js'
import { GroupStorms, hasSucceeded, refusalOf, successes } from '../support/groups/group-storm.js'
import {
  aGroup,
  expectSuccess,
  groupCall,
  groupEventsOf,
  groupInfo,
  memberIds,
  outcomes,
} from '../support/groups/groups.js'
import { ownServer } from '../support/in-process-server.js'
import { acknowledge, integrityFaults } from '../support/messaging/messaging.js'

const timeoutMs = 240_000

const success = 200
/** By the code of a call, or by the reason beside a user. */
const full = [answerCode.group_full, 'group is full']
const blocked = [answerCode.in_group_block_list, 'user is on the block list of the group']
const alreadyMember = [answerCode.already_group_member, 'user is already a member of the group']

for (const backend of parallelBackend('durable')) {
  describe(`groups in a storm on ${backend.name}`, { timeout: timeoutMs }, () => {
    const server = ownServer(backend)
    let storms: GroupStorms
    let admin: Api
    let people: readonly Person[]
    let owner: Person
    let bob: Person
    let carol: Person
    let dave: Person

    beforeAll(async () => {
      storms = await GroupStorms.on(server)
      ;({ admin, people } = storms)
      ;[owner, bob, carol, dave] = people as [Person, Person, Person, Person]
    })

    afterAll(async () => {
      console.info(`group storms on ${backend.name}: ${storms?.report()}`)
    })

    const setCapacity = (group: number, value: number) =>
      groupCall(admin, '/group/settings/capacity', group, { value })
    const count = async (group: number) => Number((await groupInfo(admin, group)).count)

    it.each([
      [
        'counts of other rows, and more members than the capacity',
        [
          `update groups set member_count = member_count + 1, block_count = block_count + 1,
            ban_count = ban_count + 1, join_request_count = join_request_count + 1, capacity = 1`,
        ],
        [
          'a count that is not that of the members',
          'a count that is not that of the blocked users',
          'a count that is not that of the bans',
          'a count that is not that of the join requests',
          '/group/banned_list: the total is 1',
          '/group/application_list: the total is 1',
          '/group/blocked_list: the total is 1',
          'the total of group',
          'more members than the capacity',
          'told to have a capacity of',
        ],
      ],
      [
        'two owners, a false owner and a blocked member',
        [
          'update group_members set role = 2',
          'update groups set owner_id = 1',
          'insert into group_blocks select app_id, group_id, user_id, 1 from group_members',
        ],
        ['not one owner', 'an owner who is no member', 'a member who is blocked'],
      ],
      [
        'another role than was told',
        ['update group_members set role = 1'],
        ['what was told leads to'],
      ],
    ])('the checks see %s', async (_, statements, faults) => {
      const { group } = await storms.anOpenGroup(owner, { members: [bob] })
      for (const statement of statements)
        await server.sql.run(`${statement} where group_id = ${group}`)
      const found = await new GroupWatch(server).faults([group], [owner, bob])
      for (const table of ['groups', 'group_members', 'group_blocks'])
        await server.sql.run(`delete from ${table} where group_id = ${group}`)
      for (const table of ['conversations', 'readers'])
        await server.sql.run(`delete from ${table} where low_id = ${group}`)
      for (const fault of faults) expect(found.join('\n')).toContain(fault)
    })

    it('the last places go to as many as there are, whichever way they come', async () => {
      await storms.everyRound(async () => {
        const open = await storms.anOpenGroup(owner)
        await setCapacity(open.group, 5)
        const answers = await storms.atOnce(...storms.comers(people.slice(4), open))
        const refusals = answers.map(refusalOf).filter((refusal) => refusal !== null)
        expect(refusals).toHaveLength(answers.length - 4)
        for (const refusal of refusals) expect(full).toContain(refusal)
        expect(await count(open.group)).toBe(5)
        return [open.group]
      })
    })

    it('lists of users fill a group to the last place', async () => {
      await storms.everyRound(async () => {
        const { group } = await storms.anOpenGroup(owner)
        await setCapacity(group, 9)
        const lists = Array.from({ length: 6 }, () => storms.some(6, people.slice(1)))
        const answers = await storms.atOnce(
          ...lists.map(
            (user_list) => () => groupCall(admin, '/group/admin/member_join', group, { user_list }),
          ),
        )
        const admitted = answers.flatMap((answer) =>
          Object.values(outcomes(answer)).filter((reason) => reason === null),
        )
        expect(await count(group)).toBe(admitted.length + 1)
        const wanted = new Set(lists.flat()).size
        expect(admitted).toHaveLength(Math.min(8, wanted))
        return [group]
      })
    })

    it('a capacity that shrinks while users come is never exceeded', async () => {
      await storms.everyRound(async () => {
        const open = await storms.anOpenGroup(owner)
        await setCapacity(open.group, 8)
        const shrinks = [2, 4, 6].map((value) => () => setCapacity(open.group, value))
        await storms.atOnce(...storms.comers(people.slice(4), open), ...shrinks)
        const { capacity, count: members } = await groupInfo(admin, open.group)
        expect(members).toBeLessThanOrEqual(Number(capacity))
        return [open.group]
      })
    })

    it('a user who comes by every way at once is in once', async () => {
      await storms.everyRound(async () => {
        const open = await storms.anOpenGroup(owner)
        const answers = await storms.atOnce(
          ...storms.waysOf(bob, open),
          ...storms.waysOf(bob, open),
        )
        const refusals = answers.map(refusalOf).filter((refusal) => refusal !== null)
        expect(refusals).toHaveLength(answers.length - 1)
        for (const refusal of refusals) expect(alreadyMember).toContain(refusal)
        const joined = (await groupEventsOf(server.sql, open.group)).filter(
          ({ kind }) => kind === 'joined',
        )
        expect(joined.map(({ users }) => users)).toEqual([[bob.id]])
        return [open.group]
      })
    })

    it('an invitation is followed once, whatever is done to the invited user meanwhile', async () => {
      await changeSettings(carol, { group_confirm: true })
      await storms.everyRound(async () => {
        const { group } = await storms.anOpenGroup(owner, { admins: [bob] })
        const user_list = [carol.id]
        await groupCall(owner.api, '/group/invite', group, { user_list })
        const accept = () =>
          groupCall(carol.api, '/group/invite/handle', group, { user_id: carol.id, approval: true })
        const kick =
          ({ api }: Person) =>
          () =>
            groupCall(api, '/group/kick', group, { user_list })
        const invite = () => groupCall(bob.api, '/group/invite', group, { user_list })
        const answers = await storms.atOnce(accept, accept, kick(bob), kick(owner), invite)
        const [accepted, kicked] = [successes(answers.slice(0, 2)), successes(answers.slice(2, 4))]
        expect(accepted).toBeGreaterThan(0)
        expect((await memberIds(admin, group)).includes(carol.id)).toBe(accepted > kicked)
        return [group]
      })
      await changeSettings(carol, { group_confirm: false })
    })

    it('a group that is dissolved while it is passed on, joined and applied to has nothing open', async () => {
      await storms.everyRound(async () => {
        const open = await storms.anOpenGroup(owner, { members: [bob] })
        const { group } = open
        await groupCall(owner.api, '/group/settings/require_admin_approval', group, {
          apply_approval: 1,
        })
        const destroy = (api: Api) => () =>
          api.call('DELETE', '/group/destroy', { query: { group_id: group } })
        const [byOwner, byAdmin, transferred] = await storms.atOnce(
          destroy(owner.api),
          destroy(admin),
          () => groupCall(owner.api, '/group/transfer', group, { new_owner: bob.id }),
          ...[carol, dave, storms.person(4)].flatMap((each) => storms.waysOf(each, open)),
        )
        expect([success, answerCode.group_not_found]).toContain(transferred?.code)
        expect([byOwner?.code, byAdmin?.code]).toContain(success)
        expect((await groupInfo(owner.api, group)).status).toBe(1)
        return [group]
      })
    })

    it('a user who leaves is no owner, and a user who is made the owner does not leave', async () => {
      await storms.everyRound(async () => {
        const { group } = await storms.anOpenGroup(owner, { members: [bob, carol] })
        const leave =
          ({ api }: Person) =>
          () =>
            api.call('DELETE', '/group/leave', { query: { group_id: group } })
        const transfer = () => groupCall(owner.api, '/group/transfer', group, { new_owner: bob.id })
        const [transferred, left, ownerLeft] = codes(
          await storms.atOnce(transfer, leave(bob), leave(owner)),
        )
        const isBobs = transferred === success
        expect([transferred, left]).toEqual(
          isBobs
            ? [success, answerCode.owner_cannot_leave]
            : [answerCode.new_owner_not_member, success],
        )
        if (!isBobs) expect(ownerLeft).toBe(answerCode.owner_cannot_leave)
        expect((await groupInfo(admin, group)).owner_id).toBe(isBobs ? bob.id : owner.id)
        return [group]
      })
    })

    it('a group that is passed to several at once has one owner', async () => {
      await storms.everyRound(async () => {
        const heirs = [bob, carol, dave]
        const { group } = await storms.anOpenGroup(owner, { members: heirs })
        const user_list = heirs.map(({ id }) => id)
        const answers = await storms.atOnce(
          ...heirs.map(
            ({ id: new_owner }) =>
              () =>
                groupCall(owner.api, '/group/transfer', group, { new_owner }),
          ),
          () => groupCall(owner.api, '/group/admin/add', group, { user_list }),
          () => groupCall(owner.api, '/group/kick', group, { user_list: [dave.id] }),
        )
        const passedOn = answers.slice(0, heirs.length)
        expect(successes(passedOn)).toBe(1)
        expect((await groupInfo(admin, group)).owner_id).toBe(
          heirs[passedOn.findIndex(hasSucceeded)]?.id,
        )
        return [group]
      })
    })

    it('admins have no power over each other, and none once they are dismissed', async () => {
      await storms.everyRound(async () => {
        const { group } = await storms.anOpenGroup(owner, { admins: [bob, carol] })
        const both = [
          [bob, carol],
          [carol, bob],
        ] as const
        const act = (path: string, by: Person, on: Person) => () =>
          groupCall(by.api, path, group, { user_list: [on.id], duration: 5 })
        const paths = ['/group/kick', '/group/ban', '/group/block', '/group/admin/remove']
        const equals = await storms.atOnce(
          ...both.flatMap(([one, other]) => paths.map((path) => act(path, one, other))),
        )
        expect(successes(equals)).toBe(0)
        const answers = await storms.atOnce(
          ...both.map(([one, other]) => act('/group/kick', one, other)),
          ...both.map(([one]) => act('/group/admin/remove', owner, one)),
        )
        const kicked = successes(answers.slice(0, 2))
        expect(kicked).toBeLessThanOrEqual(1)
        expect(await count(group)).toBe(3 - kicked)
        return [group]
      })
    })

    it('a blocked user is out, whichever way the user comes meanwhile', async () => {
      await changeSettings(dave, { group_confirm: true })
      await storms.everyRound(async () => {
        const open = await storms.anOpenGroup(owner, { admins: [bob] })
        const { group } = open
        await groupCall(owner.api, '/group/invite', group, { user_list: [dave.id] })
        const [blocks] = await storms.atOnce(
          () => groupCall(bob.api, '/group/block', group, { user_list: [carol.id, dave.id] }),
          () =>
            groupCall(dave.api, '/group/invite/handle', group, {
              user_id: dave.id,
              approval: true,
            }),
          ...storms.waysOf(carol, open),
          ...storms.waysOf(dave, open),
        )
        expect(blocks && outcomes(blocks)).toEqual({ [carol.id]: null, [dave.id]: null })
        expect(await memberIds(admin, group)).toEqual([owner.id, bob.id])
        const later = await storms.atOnce(
          ...storms.waysOf(carol, open),
          ...storms.waysOf(dave, open),
        )
        for (const answer of later) expect(blocked).toContain(refusalOf(answer))
        return [group]
      })
      await changeSettings(dave, { group_confirm: false })
    })

    it('an application is handled once', async () => {
      await storms.everyRound(async () => {
        const group = await aGroup(owner, { admins: [bob] })
        await groupCall(carol.api, '/group/apply', group)
        const handle = (api: Api, approval: boolean) => () =>
          groupCall(api, '/group/apply/handle', group, { user_id: carol.id, approval })
        const adminOfGroup = server.api.admin({ groupId: group })
        const answers = await storms.atOnce(
          handle(owner.api, true),
          handle(bob.api, false),
          handle(admin, true),
          handle(adminOfGroup, false),
        )
        expect(codes(answers).sort()).toEqual([
          success,
          answerCode.join_request_not_open,
          answerCode.join_request_not_open,
          answerCode.join_request_not_open,
        ])
        const isApproved = answers.findIndex(hasSucceeded) % 2 === 0
        expect((await memberIds(admin, group)).includes(carol.id)).toBe(isApproved)
        const told = (await groupEventsOf(server.sql, group)).filter(({ kind }) =>
          kind.startsWith('request_'),
        )
        expect(told.map(({ kind }) => kind)).toEqual([
          isApproved ? 'request_accepted' : 'request_declined',
        ])
        return [group]
      })
    })

    it('users who are kicked and fetched back by many at once are in or out', async () => {
      await storms.everyRound(async () => {
        const { group } = await storms.anOpenGroup(owner, { admins: [bob, carol] })
        const callers = [owner.api, bob.api, carol.api, admin, server.api.admin({ groupId: group })]
        const calls = Array.from({ length: 24 }, (_, index) => {
          const path = index % 2 === 0 ? '/group/admin/member_join' : '/group/kick'
          const [api, user_list] = [
            storms.random.pick(callers),
            storms.some(5, people.slice(3, 11)),
          ]
          return () => groupCall(api, path, group, { user_list })
        })
        expect(codes(await storms.atOnce(...calls))).toEqual(calls.map(() => success))
        return [group]
      })
    })

    it('the limit of groups that a user owns holds, whether they are made or taken over', async () => {
      const limit = 3
      const setLimit = (group_owner_limit: number) =>
        server.api.as(server.operatorToken).succeed('POST', '/operator/v1/app/update', {
          body: { app_id: server.appId, settings: { group_owner_limit } },
        })
      await storms.everyRound(async () => {
        const [alice, giver] = (await registerPeople(server, 2)) as [Person, Person]
        const given = await Promise.all(
          Array.from({ length: limit }, () => aGroup(giver, { members: [alice] })),
        )
        await setLimit(limit)
        const create = () => alice.api.call('POST', '/group/create', { body: { name: 'Group' } })
        const answers = await storms.atOnce(
          ...Array.from({ length: 5 }, () => create),
          ...given.map(
            (group) => () =>
              groupCall(giver.api, '/group/transfer', group, { new_owner: alice.id }),
          ),
        )
        await setLimit(5_000)
        const refused = Array(answers.length - limit).fill(answerCode.created_group_limit_reached)
        expect(codes(answers).sort((a, b) => a - b)).toEqual([
          ...Array(limit).fill(success),
          ...refused,
        ])
        const made = answers.slice(0, 5).filter(hasSucceeded)
        return [...given, ...made.map(({ envelope }) => envelope.data.group_id as number)]
      })
    })

    it('nothing is left of users who are deleted in the midst of it all, and their groups go on', async () => {
      await storms.everyRound(async () => {
        const [alice, ben, cleo, dora] = (await registerPeople(server, 4)) as [
          Person,
          Person,
          Person,
          Person,
        ]
        const gone = [alice, ben, cleo]
        const open = await storms.anOpenGroup(owner)
        const own = await aGroup(alice, { members: [ben, cleo], admins: [dora] })
        const lonely = await aGroup(ben)
        const user_list = gone.map(({ id }) => id)
        const transfer = (by: Person, group: number, to: Person) => () =>
          groupCall(by.api, '/group/transfer', group, { new_owner: to.id })
        const [late, ...others] = await storms.atOnce(
          () =>
            alice.api.call('POST', '/group/create', {
              body: { name: 'Late', user_list: [ben.id, dora.id] },
            }),
          ...gone.map(
            ({ api }) =>
              () =>
                api.call('DELETE', '/user/delete'),
          ),
          ...gone.flatMap((each) => storms.waysOf(each, open)),
          transfer(alice, own, ben),
          transfer(alice, own, cleo),
          transfer(owner, open.group, alice),
          () => groupCall(dora.api, '/group/kick', own, { user_list }),
          () => groupCall(dora.api, '/group/ban', own, { user_list, duration: 60 }),
          () => groupCall(owner.api, '/group/block', open.group, { user_list: [cleo.id] }),
          () => alice.api.call('DELETE', '/group/leave', { query: { group_id: own } }),
        )
        expect(codes(others.slice(0, gone.length))).toEqual(gone.map(() => success))
        expect(await memberIds(admin, own)).toEqual([dora.id])
        const owners = await Promise.all(
          [own, open.group].map(async (group) => (await groupInfo(admin, group)).owner_id),
        )
        expect(owners).toEqual([dora.id, owner.id])
        expect((await groupInfo(admin, lonely)).status).toBe(1)
        return [
          open.group,
          own,
          lonely,
          ...(late && hasSucceeded(late) ? [late.envelope.data.group_id] : []),
        ]
      })
    })

    it('whatever everybody does at once, all groups agree with themselves', async () => {
      const cautious = people.slice(8, 11)
      for (const each of cautious) await changeSettings(each, { group_confirm: true })
      const groups = await Promise.all(
        [owner, bob, carol].map((each) => aGroup(each, { members: people.slice(3, 7) })),
      )
      await storms.everyRound(async () => {
        await storms.atOnce(
          ...Array.from({ length: 60 }, () => storms.anything(storms.random.pick(groups))),
        )
        return groups
      })
    })
  })

  if (backend.name === 'postgres') describeLocks(backend)
}

/** PostgreSQL alone has locks of rows that could keep the wrong ones waiting. */
function describeLocks(backend: Backend): void {
  describe('groups whose rows are locked on postgres', { timeout: timeoutMs }, () => {
    const server = ownServer(backend)

    beforeAll(async () => {})

    const open = () => openSql(server.place)

    /** How many of the other connections to the database satisfy it. */
    async function countOthers(sql: Sql, condition = 'true'): Promise<number> {
      const others =
        "datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'"
      const [row] = await sql.run(
        `select count(*) as count from pg_stat_activity where ${others} and ${condition}`,
      )
      return Number(row?.count)
    }

    it('keep nobody waiting who may not come in, nor the logins of those who are to come in', async () => {
      const [owner, outsider, victim] = (await speakers(server, 3)) as [Speaker, Speaker, Speaker]
      const group = await aGroup(owner)
      const user_list = [victim.id]
      const login = (device_guid?: string) =>
        server.api.succeed('POST', '/token/id', {
          body: { user_id: victim.id, password: 'correct horse', device_guid },
        })
      await login('known phone')
      const watch = server.sql
      await using holder = await open()
      await holder.run('begin')
      await holder.run(`select group_id from groups where group_id = ${group} for update`)
      expect(await groupCall(outsider.api, '/group/invite', group, { user_list })).toMatchObject({
        code: answerCode.member_required,
      })
      const invitation = groupCall(owner.api, '/group/invite', group, { user_list })
      const waits = async () => (await countOthers(watch, "wait_event_type = 'Lock'")) > 0
      await waitFor(waits, { what: 'the invitation to wait for the group', timeoutMs: 10_000 })
      await login()
      await login('known phone')
      expect(await groupCall(outsider.api, '/group/invite', group, { user_list })).toMatchObject({
        code: answerCode.member_required,
      })
      expect(await waits()).toBe(true)
      await holder.run('commit')
      expectSuccess(await invitation)
      expect(await memberIds(owner.api, group)).toEqual([owner.id, victim.id])
    })

    it('run into no deadlock when members mute, send and read at once', async () => {
      const rounds = isFullRun ? 30 : 8
      const members = await speakers(server, 8)
      const [owner, muter, ...others] = members as [Speaker, Speaker, ...Speaker[]]
      const groups = await Promise.all(
        [1, 2].map(() => aGroup(owner, { members: [muter, ...others] })),
      )
      for (const group of groups) await sendToGroup(owner.api, group, 'begins the conversation')
      const repeat = async (times: number, work: (round: number) => Promise<unknown>) => {
        for (let round = 0; round < times; round++) await work(round)
      }
      await Promise.all(
        groups.flatMap((group) => {
          const mute = async (msg_mute_mode: number) =>
            expectSuccess(
              await groupCall(muter.api, '/group/msg/mute_mode', group, { msg_mute_mode }),
            )
          return [
            repeat(rounds, async () => {
              await mute(2)
              await mute(0)
            }),
            repeat(2 * rounds, () => sendToGroup(muter.api, group, 'by the muter')),
            repeat(2 * rounds, (round) =>
              acknowledge(muter.api, round % 2 === 0 ? { peer: group } : {}),
            ),
            ...others.map(({ api }) => repeat(rounds, () => sendToGroup(api, group, 'by another'))),
          ]
        }),
      )
      expect(await integrityFaults(server)).toEqual([])
      // Connections that end have reported all their deadlocks.
      await server.stop()
      const watch = server.sql
      const deadlocks = async () => {
        const areGone = async () => (await countOthers(watch)) === 0
        await waitFor(areGone, { what: 'the end of all other connections', timeoutMs: 15_000 })
        const [row] = await watch.run(
          'select deadlocks from pg_stat_database where datname = current_database()',
        )
        return Number(row?.deadlocks)
      }
      expect(await deadlocks()).toBe(0)
      await provokeDeadlock(open)
      expect(await deadlocks()).toBe(1)
    })
  })
}

/** On a table of its own. */
async function provokeDeadlock(open: () => Promise<Sql>): Promise<void> {
  await using first = await open()
  await using second = await open()
  await first.run('create table crossing as select n from generate_series(1, 2) n')
  const lock = (sql: Sql, row: number) =>
    sql.run(`select n from crossing where n = ${row} for update`)
  for (const sql of [first, second]) await sql.run('begin')
  await lock(first, 1)
  await lock(second, 2)
  const crossed = [lock(first, 2), lock(second, 1)].map((work, index) =>
    work.then(() => [first, second][index]?.run('commit')),
  )
  const outcomes = await Promise.allSettled(crossed)
  expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(1)
}
