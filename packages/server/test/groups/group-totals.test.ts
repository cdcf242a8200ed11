/**
 * Totals that are kept and not counted for each page: storms in which rows come and go by every
 * way, after each of which every total is the length of its list
 * (support/groups/group-invariants.ts).
 */
import { join } from 'node:path'
import { anyBackend, waitFor } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { Database } from '../../dist/db/database.js'
import { postgresDialect } from '../../dist/db/dialect/postgres.js'
import { sqliteDialect } from '../../dist/db/dialect/sqlite.js'
import { GroupStore } from '../../dist/domain/groups/core/group-store.js'
import { MemberListStore } from '../../dist/domain/groups/membership/member-list-store.js'
import { MemberStore } from '../../dist/domain/groups/membership/member-store.js'
import { EndedBans } from '../../dist/domain/groups/moderation/ended-bans.js'
import { changeSettings, type Person, registerPeople } from '../support/contacts.js'
import { type Calling, GroupStorms } from '../support/groups/group-storm.js'
import { aGroup, expectSuccess, groupCall, groupQuery } from '../support/groups/groups.js'
import { ownServer } from '../support/in-process-server.js'

const timeoutMs = 240_000
const noCache = { forget: () => {} }

for (const backend of anyBackend()) {
  describe(`totals of lists of groups on ${backend.name}`, { timeout: timeoutMs }, () => {
    // Maintenance tasks of the server run when the test advances their intervals.
    beforeAll(() => {
      vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    })
    const server = ownServer(backend)
    let storms: GroupStorms
    let people: readonly Person[]
    let owner: Person
    let database: Database
    let bans: EndedBans

    beforeAll(async () => {
      storms = await GroupStorms.on(server)
      ;({ people } = storms)
      owner = people[0] as Person
      const { databaseUrl: url, dataDir } = server.place
      database = new Database(
        url === undefined
          ? sqliteDialect(join(dataDir, 'hermod.db'))
          : postgresDialect({ url, poolSize: 2, onError: () => {} }),
      )
      bans = new EndedBans({
        database,
        groups: new GroupStore(database, noCache),
        members: new MemberStore(database, noCache),
        lists: new MemberListStore(),
        clock: { now: Date.now },
      })
    })

    afterAll(async () => {
      await database?.[Symbol.asyncDispose]()
      vi.useRealTimers()
    })

    const idsOf = (of: readonly Person[]) => of.map(({ id }) => id)
    const act = (path: string, group: number, user_list: readonly number[]) =>
      groupCall(owner.api, path, group, { user_list, duration: 60 })
    const ban = (group: number, user_list: readonly number[]) => act('/group/ban', group, user_list)
    // A statement for each: one that locks several members in another order than the service does
    // would end in a deadlock.
    const endBans = async (group: number, of: readonly Person[] = people) => {
      for (const userId of idsOf(of))
        await server.sql.run(
          `update group_members set ban_expires_at = 1 where group_id = ${group} and ban_expires_at > 1 and user_id = ${userId}`,
        )
    }
    const bannedTotal = async (group: number) =>
      (await groupQuery(owner.api, '/group/banned_list', group)).envelope.total
    const countedBans = async (group: number) =>
      (await server.sql.run(`select ban_count from groups where group_id = ${group}`))[0]?.ban_count
    const clear = () => bans.clear(new AbortController().signal)

    it('a ban that has ended is in no total, before it is cleared and after', async () => {
      const group = await aGroup(owner, { members: people.slice(1, 8) })
      expectSuccess(await ban(group, idsOf(people.slice(1, 8))))
      await endBans(group, people.slice(1, 4))
      expect([await bannedTotal(group), await countedBans(group)]).toEqual([4, 7])
      const version = (await groupQuery(owner.api, '/group/banned_list', group)).envelope.version
      await clear()
      expect([await bannedTotal(group), await countedBans(group)]).toEqual([4, 4])
      const { envelope } = await groupQuery(owner.api, '/group/banned_list', group)
      expect(envelope.version).toBe(version)
      // Who is banned again after the end of a ban counts once.
      await endBans(group, people.slice(4, 6))
      expectSuccess(await ban(group, idsOf(people.slice(3, 6))))
      expect([await bannedTotal(group), await countedBans(group)]).toEqual([5, 5])
    })

    it('bans that are set, lifted, kept for a return, ended and cleared at once are counted', async () => {
      await storms.everyRound(async () => {
        const members = people.slice(1, 12)
        const { group } = await storms.anOpenGroup(owner, { members })
        expectSuccess(await ban(group, storms.some(6, members)))
        const paths = ['/group/ban', '/group/unban', '/group/kick', '/group/admin/member_join']
        const calls = Array.from({ length: 32 }, (_, index): Calling => {
          const user_list = storms.some(4, members)
          return () => act(paths[index % paths.length] as string, group, user_list)
        })
        const appoint = () => act('/group/admin/add', group, storms.some(2, members))
        const leave = members.slice(0, 3).map(
          ({ api }): Calling =>
            () =>
              api.call('DELETE', '/group/leave', { query: { group_id: group } }),
        )
        const passing = async () => {
          for (let round = 0; round < 5; round++) {
            await endBans(group, storms.shuffled(members).slice(0, 4))
            await clear()
          }
        }
        await Promise.all([storms.atOnce(...calls, appoint, ...leave), passing()])
        return [group]
      })
    })

    it('join requests and invitations of users who are deleted meanwhile are in no total', async () => {
      const invitees = people.slice(8, 12)
      for (const each of invitees) await changeSettings(each, { group_confirm: true })
      await storms.everyRound(async () => {
        const passing = await registerPeople(server, 4)
        const [ben, anna, ...others] = passing as [Person, Person, Person, Person]
        const applicants = [anna, ...others, ...people.slice(3, 6)]
        await changeSettings(anna, { group_confirm: true })
        const groups = await Promise.all(
          [1, 2, 3].map(() => aGroup(owner, { admins: [ben], members: people.slice(1, 3) })),
        )
        const user_list = idsOf([...invitees, anna])
        // Some are there before, some come while their users go.
        for (const { api } of applicants.slice(0, 4))
          expectSuccess(await groupCall(api, '/group/apply', groups[0]))
        expectSuccess(await groupCall(ben.api, '/group/invite', groups[1], { user_list }))
        await storms.atOnce(
          ...groups.flatMap((group): Calling[] => [
            ...applicants.map(
              ({ api }): Calling =>
                () =>
                  groupCall(api, '/group/apply', group),
            ),
            () => groupCall(ben.api, '/group/invite', group, { user_list }),
            () => groupCall(owner.api, '/group/invite', group, { user_list }),
            ...applicants.map(
              ({ id: user_id }): Calling =>
                () =>
                  groupCall(owner.api, '/group/apply/handle', group, { user_id, approval: true }),
            ),
            ...invitees.map(
              ({ id: user_id, api }): Calling =>
                () =>
                  groupCall(api, '/group/invite/handle', group, { user_id, approval: false }),
            ),
          ]),
          ...passing.map(
            ({ api }): Calling =>
              () =>
                api.call('DELETE', '/user/delete'),
          ),
          () => owner.api.call('DELETE', '/group/destroy', { query: { group_id: groups[2] } }),
        )
        // Nobody is told who is taken out of a group that is dissolved; what its row counts is
        // looked at all the same.
        return groups.slice(0, 2)
      })
      for (const each of invitees) await changeSettings(each, { group_confirm: false })
    })

    it('join requests of several groups are counted together, as far as the caller manages these', async () => {
      const [manager] = await registerPeople(server, 1)
      if (!manager) throw new Error('nobody')
      const managed = await Promise.all([1, 2, 3].map(() => aGroup(manager)))
      const foreign = await aGroup(owner)
      for (const [index, group] of [...managed, foreign].entries())
        for (const { api } of people.slice(3, 5 + index))
          expectSuccess(await groupCall(api, '/group/apply', group))
      const list = async (...group_list: number[]) =>
        (await manager.api.succeed('POST', '/group/application_list', { body: { group_list } }))
          .total
      expect(await list(...managed, foreign)).toBe(2 + 3 + 4)
      expect(await list(managed[1] as number, managed[1] as number)).toBe(3)
      expect(await list(foreign)).toBe(0)
    })

    it('the maintenance task of the service clears bans that have ended', async () => {
      const group = await aGroup(owner, { members: people.slice(1, 4) })
      expectSuccess(await ban(group, idsOf(people.slice(1, 4))))
      await endBans(group, people.slice(1, 3))
      await vi.advanceTimersByTimeAsync(60_000)
      const isCleared = async () => (await countedBans(group)) === 1
      await waitFor(isCleared, { what: 'the bans to be cleared', timeoutMs: 20_000 })
      expect(await bannedTotal(group)).toBe(1)
    })
  })
}
