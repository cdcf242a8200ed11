/** Announcements to groups, on both databases. */
import type { Announcement } from '@hermod/protocol'
import type { Api } from '@hermod/testkit'
import { anyBackend } from '@hermod/testkit'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { answerCode, expectCode, expectSuccesses } from '../support/answer-codes.js'
import { codes, type Person, registerPeople } from '../support/contacts.js'
import {
  aGroup,
  announcements,
  groupCall,
  groupEventsOf,
  groupQuery,
} from '../support/groups/groups.js'
import { sharedServer } from '../support/in-process-server.js'

const succeeded = 200
const keptPerGroup = 500
const paths = {
  publish: '/group/announcement/edit',
  get: '/group/announcement',
  last: '/group/announcement/last',
  list: '/group/announcement/list',
  delete: '/group/announcement/delete',
} as const
const system = 0
const farId = 2n ** 63n - 1n

type Id = number | bigint | string | undefined

describe.each(anyBackend())('announcements on $name', (backend) => {
  const server = sharedServer(backend)
  let owner: Person
  let admin: Person
  let member: Person
  let outsider: Person
  let group_id: number

  beforeAll(async () => {
    ;[owner, admin, member, outsider] = (await registerPeople(server, 4)) as [
      Person,
      Person,
      Person,
      Person,
    ]
  })

  beforeEach(async () => {
    group_id = await aGroup(owner, { members: [member], admins: [admin] })
  })

  const publish = (api: Api, title = 'News', content = 'Some') =>
    groupCall(api, paths.publish, group_id, { title, content })
  const read = (api: Api, announcement_id: Id) =>
    groupQuery(api, paths.get, group_id, { announcement_id })
  const remove = (api: Api, announcement_id: Id, method = 'POST') =>
    api.call(method, paths.delete, { query: { group_id, announcement_id } })

  async function published(api: Api, title?: string, content?: string): Promise<Announcement> {
    const answer = await publish(api, title, content)
    expect(answer.code).toBe(succeeded)
    return answer.data
  }

  const told = async () =>
    (await groupEventsOf(server.sql, group_id)).filter(
      ({ kind }) => kind === 'announcement_updated',
    )

  it('are published with all that is said of them, each as a new one', async () => {
    const first = await published(admin.api, 'Picnic', 'On Sunday,\nat noon.')
    expect(first).toEqual({
      author: admin.id,
      content: 'On Sunday,\nat noon.',
      created_at: expect.any(Number),
      group_id,
      id: expect.any(Number),
      title: 'Picnic',
    })
    const second = await published(owner.api, 'Picnic', 'On Monday.')
    expect(Number(second.id)).toBeGreaterThan(Number(first.id))
    for (const { api } of [owner, admin, member]) {
      expect(await announcements(api, group_id)).toEqual([first, second])
      expect((await groupQuery(api, paths.last, group_id)).data).toEqual(second)
      expect((await read(api, first.id)).data).toEqual(first)
    }
    expect(await told()).toEqual(
      [first, second].map(({ id, author, title }) => ({
        kind: 'announcement_updated',
        actor: author,
        users: [],
        content: JSON.stringify({ id, title, is_deleted: false }),
      })),
    )
  })

  it.each(['DELETE', 'POST'])('are deleted by %s, once', async (method) => {
    const first = await published(owner.api, 'one')
    const second = await published(owner.api, 'two')
    const deleted = await remove(admin.api, second.id, method)
    expect(deleted.envelope).toEqual({ code: succeeded, data: {}, message: null })
    expect(await announcements(member.api, group_id)).toEqual([first])
    expect((await groupQuery(member.api, paths.last, group_id)).data).toEqual(first)
    for (const answer of [await remove(admin.api, second.id), await read(admin.api, second.id)])
      expect(answer.envelope).toEqual({
        code: answerCode.announcement_not_found,
        data: null,
        message: 'announcement does not exist',
      })
    expect(
      (await told()).map(({ actor, content }) => {
        const { title, is_deleted } = JSON.parse(content)
        return [actor, title, is_deleted]
      }),
    ).toEqual([
      [owner.id, 'one', false],
      [owner.id, 'two', false],
      [admin.id, 'two', true],
    ])
  })

  it('are deleted by one of several who delete the same at once', async () => {
    const { id } = await published(owner.api)
    const answers = await Promise.all(
      [owner, admin, owner, admin].map(({ api }) => remove(api, id)),
    )
    expectSuccesses(answers, 1, 'announcement_not_found')
    expect(await told()).toHaveLength(2)
  })

  it('are none in a fresh group', async () => {
    expect(await announcements(member.api, group_id)).toEqual([])
    await expectCode(groupQuery(member.api, paths.last, group_id), 'announcement_not_found')
  })

  it('belong to their group', async () => {
    const { id } = await published(owner.api)
    group_id = await aGroup(owner)
    for (const answer of [await read(owner.api, id), await remove(owner.api, id)])
      expect(answer.code).toBe(answerCode.announcement_not_found)
    expect(await announcements(owner.api, group_id)).toEqual([])
  })

  it('have the user of the call as author, and the system for an Admin token', async () => {
    const { api } = server
    const publisher = async (caller: Api) => (await published(caller)).author
    expect(await publisher(owner.api)).toBe(owner.id)
    expect(await publisher(admin.api)).toBe(admin.id)
    expect(await publisher(api.admin())).toBe(system)
    expect(await publisher(api.admin({ groupId: group_id }))).toBe(system)
    expect(await publisher(api.admin({ groupId: group_id, userId: outsider.id }))).toBe(outsider.id)
  })

  it('are named by an ID that the group knows', async () => {
    await published(owner.api)
    for (const id of [0, 1, -1, farId, 2n ** 53n + 1n]) {
      await expectCode(read(owner.api, id), 'announcement_not_found')
      await expectCode(remove(owner.api, id), 'announcement_not_found')
    }
  })

  it('have a title and a text within bounds', async () => {
    const longest = await published(owner.api, '標'.repeat(256), '文'.repeat(8192))
    expect([...longest.title, ...longest.content]).toHaveLength(256 + 8192)
    expect(await published(owner.api, '', '')).toMatchObject({ title: '', content: '' })
    expect(await announcements(owner.api, group_id)).toHaveLength(2)
  })

  it('are in one order when several are published at once, and the last one is the last of the list', async () => {
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        publish([owner, admin][index % 2]?.api as Api, `${index}`),
      ),
    )
    expect(codes(answers)).toEqual(Array(12).fill(succeeded))
    const list = await announcements(member.api, group_id)
    const ids = list.map(({ id }) => Number(id))
    expect(ids).toEqual(ids.toSorted((a, b) => a - b))
    expect(new Set(list.map(({ title }) => title)).size).toBe(12)
    expect((await groupQuery(member.api, paths.last, group_id)).data).toEqual(list.at(-1))
    expect((await told()).map(({ content }) => JSON.parse(content).id)).toEqual(ids)
  })

  it('give way to newer ones beyond 500', async () => {
    const values = Array.from(
      { length: keptPerGroup },
      (_, index) => `('${server.appId}', ${group_id}, ${index + 1}, 0, 't', 'c', 1)`,
    )
    const columns = 'app_id, group_id, announcement_id, author_id, title, content, created_at'
    await server.sql.run(`insert into group_announcements (${columns}) values ${values.join(', ')}`)
    const newest = await published(owner.api, 'newest')
    const list = await announcements(owner.api, group_id)
    expect(list).toHaveLength(keptPerGroup)
    expect([list[0]?.id, list.at(-1)]).toEqual([2, newest])
    await expectCode(read(owner.api, 1), 'announcement_not_found')
  })

  it('are newer than any before, whatever the clock of the one who published that says', async () => {
    const tomorrow = 2 ** 52
    const values = `('${server.appId}', ${group_id}, ${tomorrow}, 0, 't', 'c', 1)`
    await server.sql.run(
      `insert into group_announcements (app_id, group_id, announcement_id, author_id, title, content, created_at) values ${values}`,
    )
    const newest = await published(owner.api)
    expect(Number(newest.id)).toBeGreaterThan(tomorrow)
    expect((await groupQuery(member.api, paths.last, group_id)).data).toEqual(newest)
  })
})
