/**
 * A group of five thousand, on both databases: its pages and look-ups give every member once, while
 * others come and go.
 */
import type { GroupMember } from '@hermod/protocol'
import { type Api, parallelBackend } from '@hermod/testkit'
import { beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { type Person, registerPeople } from '../support/contacts.js'
import { GroupWatch } from '../support/groups/group-invariants.js'
import {
  aGroup,
  expectSuccess,
  groupCall,
  groupInfo,
  groupMembers,
} from '../support/groups/groups.js'
import { type InProcessServer, ownServer } from '../support/in-process-server.js'

const memberCount = 5_000
const listLength = 500
const pageLength = 200
const timeoutMs = 240_000

for (const backend of parallelBackend()) {
  describe(`a group of ${memberCount} on ${backend.name}`, { timeout: timeoutMs }, () => {
    const server = ownServer(backend)
    let owner: Person
    let group: number
    /** In ascending order, without the owner; the second half joins and leaves in a test. */
    let userIds: number[]
    let outsiders: number[]

    beforeAll(async () => {
      const [first] = await registerPeople(server, 1)
      if (!first) throw new Error('nobody')
      owner = first
      const imported = await importUsers(server, memberCount + listLength)
      userIds = imported.slice(0, memberCount - 1)
      outsiders = imported.slice(memberCount)
      group = await aGroup(owner)
      await expectSuccess(
        await groupCall(server.api.admin(), '/group/settings/capacity', group, { value: 10_000 }),
      )
      await add(userIds)
    }, timeoutMs)

    async function inLists(path: string, ids: readonly number[]): Promise<void> {
      for (let start = 0; start < ids.length; start += listLength)
        expectSuccess(
          await groupCall(owner.api, path, group, {
            user_list: ids.slice(start, start + listLength),
          }),
        )
    }

    const add = (ids: readonly number[]) => inLists('/group/admin/member_join', ids)
    const kick = (ids: readonly number[]) => inLists('/group/kick', ids)
    const everybody = () => ascending([owner.id, ...userIds])
    const look = (path: string, user_list: readonly number[]) =>
      owner.api.succeed<GroupMember[]>('POST', path, { body: { group_id: group, user_list } })

    it('large group: count is the number of members', async () => {
      expect((await groupInfo(owner.api, group)).count).toBe(memberCount)
    })

    it('large group: pages have each member once, in order', async () => {
      const lengths: number[] = []
      const found = await pagesOf(owner.api, group, ({ data, total }) => {
        lengths.push(data.length)
        expect(total).toBe(memberCount)
      })
      expect(found).toEqual(everybody())
      expect(lengths).toEqual(Array(memberCount / pageLength).fill(pageLength))
      expect((await groupMembers(owner.api, group)).map(({ user_id }) => user_id)).toEqual(
        everybody(),
      )
    })

    it('large group: pages have each staying member once, in order, while others join and leave', async () => {
      const stays = userIds.filter((_, index) => index % 2 === 0)
      const goes = userIds.filter((_, index) => index % 2 === 1)
      let isPaging = true
      const comeAndGo = async (ids: readonly number[]) => {
        let changes = 0
        for (; isPaging || changes === 0; changes++) {
          await kick(ids)
          await add(ids)
        }
        return changes
      }
      const quarters = [0, 1, 2, 3].map((quarter) =>
        goes.filter((_, index) => index % 4 === quarter),
      )
      const unrest = Promise.all(quarters.map(comeAndGo))
      const readings: number[][] = []
      for (let reading = 0; reading < 5; reading++) readings.push(await pagesOf(owner.api, group))
      isPaging = false
      expect(Math.min(...(await unrest))).toBeGreaterThan(0)
      const known = new Set(stays)
      for (const reading of readings) {
        expect(reading).toEqual(ascending([...new Set(reading)]))
        expect(reading.filter((id) => known.has(id))).toEqual(stays)
      }
      // Some were out when they were read, or nothing came in between.
      expect(readings.some(({ length }) => length < memberCount)).toBe(true)
      expect(await pagesOf(owner.api, group)).toEqual(everybody())
    })

    it('large group: a lookup of 10,000 users keeps the order and removes duplicates', async () => {
      const asked = [...userIds.toReversed(), ...outsiders, owner.id, ...userIds].slice(0, 10_000)
      const expected = [...userIds.toReversed(), owner.id]
      for (const path of ['/group/members/display_name', '/group/members/info'])
        expect((await look(path, asked)).data.map(({ user_id }) => user_id)).toEqual(expected)
      const tooMany = await groupCall(owner.api, '/group/members/display_name', group, {
        user_list: Array(10_001).fill(owner.id),
      })
      expect([tooMany.code, tooMany.envelope.message]).toEqual([
        answerCode.invalid_parameter,
        expect.stringContaining('user_list'),
      ])
    })

    it('large group: its counts and lists agree after all tests', async () => {
      expect(await new GroupWatch(server).faults([], [owner])).toEqual([])
      expect((await groupInfo(owner.api, group)).count).toBe(memberCount)
    })
  })
}

const ascending = (ids: readonly number[]) => [...ids].sort((a, b) => a - b)

/** The IDs on all pages, in the order of the pages. */
async function pagesOf(
  api: Api,
  group_id: number,
  look: (page: { readonly data: GroupMember[]; readonly total?: number }) => void = () => {},
): Promise<number[]> {
  const ids: number[] = []
  let cursor: string | undefined
  do {
    const page = await api.succeed<GroupMember[]>('GET', '/group/member_list', {
      query: { group_id, cursor, limit: pageLength },
    })
    look(page)
    ids.push(...page.data.map(({ user_id }) => Number(user_id)))
    cursor = page.cursor
  } while (cursor !== undefined)
  return ids
}

/** @returns their IDs, in ascending order */
async function importUsers({ api }: InProcessServer, count: number): Promise<number[]> {
  const users = await api.addUsers(Array.from({ length: count }, (_, n) => `imported_${n}`))
  return ascending(users.map(({ id }) => id))
}
