/** Files that are shared in groups, on both databases. */
import type { SharedFile } from '@hermod/protocol'
import { type Answer, type Api, anyBackend } from '@hermod/testkit'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { answerCode, expectCode, expectSuccesses } from '../support/answer-codes.js'
import { type Person, registerPeople } from '../support/contacts.js'
import { aGroup, groupCall, groupEventsOf, groupQuery } from '../support/groups/groups.js'
import { sharedServer } from '../support/in-process-server.js'

const succeeded = 200
const filesPerGroup = 1_000
const unknownFile = 'shared file does not exist'
const forbidden = 'no permission for the shared file'
const paths = {
  share: '/group/file/upload',
  get: '/group/file',
  list: '/group/file/list',
  rename: '/group/file/update_name',
  delete: '/group/file/delete',
} as const
const map = {
  name: 'map.png',
  size: 1234,
  type: 'image/png',
  url: 'https://example.org/map.png?sign=abc',
}
const system = 0
const farId = 2n ** 63n - 1n

type Id = number | bigint | string | undefined

describe.each(anyBackend())('shared files on $name', (backend) => {
  const server = sharedServer(backend)
  let owner: Person
  let admin: Person
  let member: Person
  let other: Person
  let outsider: Person
  let group_id: number

  beforeAll(async () => {
    ;[owner, admin, member, other, outsider] = (await registerPeople(server, 5)) as [
      Person,
      Person,
      Person,
      Person,
      Person,
    ]
  })

  beforeEach(async () => {
    group_id = await aGroup(owner, { members: [member, other], admins: [admin] })
  })

  const share = (api: Api, more: object = {}) =>
    groupCall(api, paths.share, group_id, { ...map, ...more })
  const read = (api: Api, file_id: Id) => groupQuery(api, paths.get, group_id, { file_id })
  const rename = (api: Api, file_id: unknown, name: unknown, method = 'POST') =>
    api.call(method, paths.rename, { body: { group_id, file_id, name } })
  const remove = (api: Api, file_list: readonly unknown[], method = 'POST') =>
    api.call(method, paths.delete, { body: { group_id, file_list } })

  async function shared(
    api: Api,
    more?: object,
  ): Promise<SharedFile & { readonly file_id: number }> {
    const answer = await share(api, more)
    expect(answer.code).toBe(succeeded)
    return answer.data
  }

  const files = async (api: Api): Promise<SharedFile[]> =>
    (await api.succeed('GET', paths.list, { query: { group_id } })).data

  const told = async () =>
    (await groupEventsOf(server.sql, group_id))
      .filter(({ kind }) => kind.startsWith('file_'))
      .map(({ kind, actor, users, content }) => [kind, actor, users, JSON.parse(content)])

  /** By file: null, or the reason of the failure. */
  const results = ({ data }: Answer): [number, string | null][] =>
    data.map(
      ({
        file_id,
        result,
        reason = null,
      }: {
        file_id: number
        result: string
        reason?: string | null
      }) => {
        expect(result).toBe(reason === null ? 'success' : 'fail')
        return [file_id, reason]
      },
    )

  it('are shared by members, and listed with all that is said of them, oldest first', async () => {
    const first = await shared(member.api)
    expect(first).toEqual({
      created_at: expect.any(Number),
      file_id: expect.any(Number),
      group_id,
      ...map,
      updated_at: first.created_at,
      uploader: member.id,
    })
    const { type: _, ...untyped } = map
    const second = (await groupCall(admin.api, paths.share, group_id, untyped)).data
    expect(second).toMatchObject({ type: '', uploader: admin.id })
    for (const { api } of [owner, admin, member, other]) {
      expect(await files(api)).toEqual([first, second])
      expect((await read(api, first.file_id)).data).toEqual(first)
    }
    expect(await told()).toEqual([
      ['file_uploaded', member.id, [], { file_id: first.file_id, name: 'map.png' }],
      ['file_uploaded', admin.id, [], { file_id: second.file_id, name: 'map.png' }],
    ])
  })

  it.each(['PUT', 'POST'])(
    'are renamed by %s by the users who shared them and by admins',
    async (method) => {
      const file = await shared(member.api)
      for (const [{ api }, name] of [
        [member, 'plan.png'],
        [admin, 'route.png'],
        [owner, 'way.png'],
      ] as const) {
        expect((await rename(api, file.file_id, name, method)).envelope).toEqual({
          code: succeeded,
          data: true,
          message: null,
        })
        expect((await read(other.api, file.file_id)).data).toEqual({
          ...file,
          name,
          updated_at: expect.any(Number),
        })
      }
      expect((await read(other.api, file.file_id)).data.updated_at).toBeGreaterThanOrEqual(
        Number(file.created_at),
      )
      expect((await rename(other.api, file.file_id, 'mine.png')).envelope).toEqual({
        code: answerCode.shared_file_forbidden,
        data: null,
        message: forbidden,
      })
      expect((await read(other.api, file.file_id)).data.name).toBe('way.png')
      expect((await told()).slice(1)).toEqual([
        ['file_updated', member.id, [], { file_id: file.file_id, name: 'plan.png' }],
        ['file_updated', admin.id, [], { file_id: file.file_id, name: 'route.png' }],
        ['file_updated', owner.id, [], { file_id: file.file_id, name: 'way.png' }],
      ])
    },
  )

  it('stay as they are when they get the name that they have', async () => {
    const file = await shared(member.api)
    await server.sql.run(`update group_files set updated_at = 1 where file_id = ${file.file_id}`)
    expect((await rename(member.api, file.file_id, file.name)).code).toBe(succeeded)
    expect((await read(member.api, file.file_id)).data).toEqual({ ...file, updated_at: 1 })
    expect(await told()).toHaveLength(1)
  })

  it.each(['DELETE', 'POST'])(
    'are deleted by %s one by one, each with a result of its own',
    async (method) => {
      const own = await shared(member.api, { name: 'own' })
      const foreign = await shared(admin.api, { name: 'foreign' })
      const kept = await shared(owner.api, { name: 'kept' })
      const list = [foreign.file_id, own.file_id, 1, own.file_id]
      expect(results(await remove(member.api, list, method))).toEqual([
        [foreign.file_id, forbidden],
        [own.file_id, null],
        [1, unknownFile],
      ])
      expect(await files(other.api)).toEqual([foreign, kept])
      expect(results(await remove(owner.api, [foreign.file_id, own.file_id], method))).toEqual([
        [foreign.file_id, null],
        [own.file_id, unknownFile],
      ])
      expect(await files(other.api)).toEqual([kept])
      await expectCode(read(other.api, own.file_id), 'shared_file_not_found')
      await expectCode(rename(owner.api, own.file_id, 'x'), 'shared_file_not_found')
      expect((await told()).slice(3)).toEqual([
        ['file_deleted', member.id, [], { file_id: own.file_id, name: 'own' }],
        ['file_deleted', owner.id, [], { file_id: foreign.file_id, name: 'foreign' }],
      ])
    },
  )

  it('are deleted once when several ask for it at once', async () => {
    const { file_id } = await shared(member.api)
    const answers = await Promise.all(
      [owner, admin, member, owner].map(({ api }) => remove(api, [file_id])),
    )
    const reasons = answers.flatMap((answer) => results(answer).map(([, reason]) => reason))
    expect(reasons.filter((reason) => reason === null)).toHaveLength(1)
    expect(reasons.filter((reason) => reason === unknownFile)).toHaveLength(3)
    expect((await told()).map(([kind]) => kind)).toEqual(['file_uploaded', 'file_deleted'])
  })

  it('take an Admin token for what its headers make of it', async () => {
    const { api } = server
    const file = await shared(member.api)
    expect((await shared(api.admin())).uploader).toBe(system)
    expect((await shared(api.admin({ groupId: group_id }))).uploader).toBe(system)
    expect((await shared(api.admin({ groupId: group_id, userId: outsider.id }))).uploader).toBe(
      outsider.id,
    )
    const acting = api.admin({ userId: other.id })
    await expectCode(rename(acting, file.file_id, 'x'), 'shared_file_forbidden')
    expect(results(await remove(acting, [file.file_id]))).toEqual([[file.file_id, forbidden]])
    expect(
      results(await remove(api.admin({ groupId: group_id, userId: outsider.id }), [file.file_id])),
    ).toEqual([[file.file_id, null]])
  })

  it('belong to their group', async () => {
    const { file_id } = await shared(owner.api)
    group_id = await aGroup(owner)
    await expectCode(read(owner.api, file_id), 'shared_file_not_found')
    await expectCode(rename(owner.api, file_id, 'x'), 'shared_file_not_found')
    expect(results(await remove(owner.api, [file_id]))).toEqual([[file_id, unknownFile]])
    expect(await files(owner.api)).toEqual([])
  })

  it('are named by an ID that the group knows', async () => {
    for (const id of [0, 1, -1, farId, 2n ** 53n + 1n]) {
      await expectCode(read(owner.api, id), 'shared_file_not_found')
      await expectCode(rename(owner.api, id, 'x'), 'shared_file_not_found')
      expect(results(await remove(owner.api, [id]))).toEqual([[id, unknownFile]])
    }
  })

  it('take the widest fields and addresses that cannot run anything', async () => {
    const widest = {
      name: '圖'.repeat(256),
      size: 2n ** 63n - 1n,
      type: 'x'.repeat(128),
      url: `/${'x'.repeat(2047)}`,
    }
    expect(await shared(owner.api, widest)).toMatchObject(widest)
    for (const url of [
      '/file/download/chat?file_sign=abc',
      'http://example.org',
      'https://例え.jp/%20?a=b#c',
      'HTTPS://example.org/a b',
      'ftp://a.b',
      'Karten/größte Karte.png',
    ])
      expect(await shared(owner.api, { url, size: 0 })).toMatchObject({ url, size: 0 })
    const bad = [
      '',
      'javascript:alert(1)',
      ' JAVASCRIPT:alert(1)',
      'VbScript:x',
      'data:text/html,x',
      '/a\nb',
      'a\\b',
      '..',
      'maps/../../keys',
      'https://a.b/..#x',
    ]
    const before = await files(owner.api)
    for (const url of bad) {
      const { envelope } = await share(owner.api, { url })
      expect(envelope, url).toMatchObject({
        code: answerCode.invalid_parameter,
        message: expect.stringMatching(/parameter: url (is|must)/),
      })
    }
    expect(await files(owner.api)).toEqual(before)
  })

  it('are at most 1000 in a group, also when they are shared at once', async () => {
    const columns =
      'app_id, group_id, file_id, uploader_id, name, size, type, url, created_at, updated_at'
    const row = (id: number) => `('${server.appId}', ${group_id}, ${id}, 0, 'n', 1, '', '/', 1, 1)`
    const rows = Array.from({ length: filesPerGroup - 2 }, (_, index) => row(index + 1))
    await server.sql.run(`insert into group_files (${columns}) values ${rows.join(', ')}`)
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, index) => share([member, other][index % 2]?.api as Api)),
    )
    expectSuccesses(answers, 2, 'shared_file_limit_reached')
    expect((await share(owner.api)).envelope).toEqual({
      code: answerCode.shared_file_limit_reached,
      data: null,
      message: 'group has too many shared files',
    })
    expect(await files(owner.api)).toHaveLength(filesPerGroup)
    await remove(owner.api, [1])
    expect((await share(member.api)).code).toBe(succeeded)
  })
})
