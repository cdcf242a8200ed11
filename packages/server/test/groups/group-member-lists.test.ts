/** The lists of members, admins, bans and blocks of groups. */
import type { GroupMember } from '@hermod/protocol'
import { type Answer, type Api, anyBackend } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { type Person, registerPeople } from '../support/contacts.js'
import {
  aGroup,
  expectSuccess,
  groupCall,
  groupMembers,
  groupQuery,
  roles,
} from '../support/groups/groups.js'
import {
  act,
  appoint,
  ban,
  bannedList,
  block,
  cast,
  dismiss,
  infoOf,
  kick,
  lookUps,
  pagedLists,
  unban,
  unblock,
  versionOf,
} from '../support/groups/members.js'
import { sharedServer } from '../support/in-process-server.js'

describe.each(anyBackend())('lists of members on $name', (backend) => {
  const server = sharedServer(backend)

  it('show every member once, by user ID, whatever the length of a page', async () => {
    const [owner, ...others] = (await registerPeople(server, 23)) as [Person, ...Person[]]
    const group_id = await aGroup(owner, { members: [...others].reverse() })
    const ids = [owner, ...others].map(({ id }) => id).sort((a, b) => a - b)
    for (const limit of [1, 5, 22, 23, 24, 5_000, undefined]) {
      const members = await groupMembers(owner.api, group_id, limit)
      expect(members.map(({ user_id }) => user_id)).toEqual(ids)
    }
    const { envelope } = await groupQuery(owner.api, '/group/member_list', group_id, {
      limit: 5,
      cursor: '',
      version: 1,
    })
    expect(envelope.data[0]).toEqual({
      display_name: '',
      expired_time: 0,
      join_time: expect.any(Number),
      user_id: ids[0],
      is_bot: false,
    })
    expect(envelope.total).toBe(23)
    const last = await groupQuery(owner.api, '/group/member_list', group_id, { limit: 23 })
    expect('cursor' in last.envelope).toBe(false)

    expectSuccess(await ban(owner.api, group_id, ...others))
    const banned = await bannedList(owner.api, group_id, 4)
    expect(banned.map(({ user_id }) => user_id)).toEqual(ids.filter((id) => id !== owner.id))
    expect(
      (await groupQuery(owner.api, '/group/banned_list', group_id, { limit: 4 })).envelope.total,
    ).toBe(22)
  })

  it('go on behind the last entry of the page before, also when it is gone', async () => {
    const { group_id, owner, admin, otherAdmin, member, otherMember } = await cast(server)
    const first = await groupQuery(owner.api, '/group/member_list', group_id, { limit: 4 })
    expect(first.data.map(({ user_id }: GroupMember) => user_id)).toEqual([
      owner.id,
      admin.id,
      otherAdmin.id,
      member.id,
    ])
    expectSuccess(await kick(owner.api, group_id, member, otherAdmin))
    const { cursor } = first.envelope
    const second = await groupQuery(owner.api, '/group/member_list', group_id, {
      limit: 4,
      cursor,
    })
    expect(second.data.map(({ user_id }: GroupMember) => user_id)).toEqual([otherMember.id])
  })

  it('have versions that grow with every change of them, and with nothing else', async () => {
    const { group_id, owner, member, otherMember, outsider } = await cast(server)
    const versions = async () =>
      Object.fromEntries(
        await Promise.all(
          pagedLists.map(async (path) => [path, await versionOf(owner.api, path, group_id)]),
        ),
      )
    const changed = async (change: () => Promise<Answer>) => {
      const before = await versions()
      expectSuccess(await change())
      const after = await versions()
      return pagedLists
        .filter((path) => Number(after[path]) > Number(before[path]))
        .map((path) => path.slice('/group/'.length, -'_list'.length))
    }
    const rename = ({ api }: Person, value: string) =>
      groupCall(api, '/group/display_name', group_id, { value })
    expect(await changed(() => rename(member, 'free'))).toEqual(['member'])
    expect(await changed(() => ban(owner.api, group_id, member))).toEqual(['member', 'banned'])
    expect(await changed(() => rename(member, 'banned'))).toEqual(['member', 'banned'])
    expect(await changed(() => appoint(owner.api, group_id, otherMember))).toEqual(['member'])
    expect(await changed(() => appoint(owner.api, group_id, otherMember))).toEqual([])
    expect(await changed(() => dismiss(owner.api, group_id, otherMember))).toEqual(['member'])
    expect(await changed(() => dismiss(owner.api, group_id, otherMember))).toEqual([])
    expect(await changed(() => unban(owner.api, group_id, member))).toEqual(['member', 'banned'])
    expect(await changed(() => unban(owner.api, group_id, member))).toEqual([])
    expect(await changed(() => block(owner.api, group_id, outsider))).toEqual(['blocked'])
    expect(await changed(() => block(owner.api, group_id, outsider))).toEqual([])
    expect(await changed(() => block(owner.api, group_id, otherMember))).toEqual([
      'member',
      'blocked',
    ])
    expect(await changed(() => unblock(owner.api, group_id, outsider))).toEqual(['blocked'])
    expect(await changed(() => unblock(owner.api, group_id, outsider))).toEqual([])
    expect(await changed(() => kick(owner.api, group_id, member))).toEqual(['member'])
  })

  it('refuse cursors that they have not made', async () => {
    const { group_id, owner } = await cast(server)
    for (const path of pagedLists) {
      for (const cursor of [
        'x',
        '-1',
        '1e3',
        ' 1',
        '9007199254740993',
        '12345678901234567',
        "1' or 1=1",
        'null',
      ]) {
        const { code, envelope } = await groupQuery(owner.api, path, group_id, { cursor })
        expect([code, envelope.message], `${path} ${cursor}`).toEqual([
          answerCode.invalid_parameter,
          expect.stringContaining('cursor'),
        ])
      }
    }
  })

  it('look members up in the order asked for and each once', async () => {
    const { group_id, owner, admin, member, outsider } = await cast(server)
    for (const path of lookUps) {
      const found = await act(path)(
        member.api,
        group_id,
        member,
        outsider,
        owner,
        1,
        member,
        2n ** 63n - 1n,
        admin,
      )
      expect(
        found.data.map(({ user_id }: GroupMember) => user_id),
        path,
      ).toEqual([member.id, owner.id, admin.id])
      expect((await act(path)(member.api, group_id)).data, path).toEqual([])
    }
    expect(
      (await infoOf(member.api, group_id, member, owner, admin)).map(({ role }) => role),
    ).toEqual([roles.member, roles.owner, roles.admin])
  })

  it('look 10,000 users up at once', async () => {
    const { group_id, owner, member } = await cast(server)
    const unknown = Array.from({ length: 9_998 }, (_, index) => index + 1)
    for (const path of lookUps) {
      const { data } = await act(path)(owner.api, group_id, member, ...unknown, owner)
      expect(
        data.map(({ user_id }: GroupMember) => user_id),
        path,
      ).toEqual([member.id, owner.id])
    }
  })

  it('hide the names of others from ordinary members where the group and the application say so', async () => {
    const { group_id, owner, admin, member, otherMember } = await cast(server)
    await server.sql.run(
      `update group_members set display_name = case when user_id = ${member.id} then 'me' else 'other' end where group_id = ${group_id}`,
    )
    const namesSeenBy = async (api: Api) => {
      const seen = [
        await groupMembers(api, group_id),
        await infoOf(api, group_id, owner, admin, member, otherMember),
      ]
      return [
        ...new Set(
          seen
            .flat()
            .map(
              ({ user_id, display_name }) =>
                `${user_id === member.id ? 'self' : 'others'}: ${display_name}`,
            ),
        ),
      ].sort()
    }
    const all = ['others: other', 'self: me']
    const hide = (on: number) =>
      server.sql.run(`update groups set hide_member_info = ${on} where group_id = ${group_id}`)
    const allow = (hide_member_info: boolean) =>
      server.api.as(server.operatorToken).succeed('POST', '/operator/v1/app/update', {
        body: { app_id: server.api.options.appId, settings: { hide_member_info } },
      })

    expect(await namesSeenBy(member.api)).toEqual(all)
    await hide(1)
    expect(await namesSeenBy(member.api)).toEqual(['others: ', 'self: me'])
    for (const api of [admin.api, owner.api, server.api.admin()])
      expect(await namesSeenBy(api)).toEqual(all)
    expectSuccess(await ban(owner.api, group_id, otherMember))
    expect(
      (await bannedList(member.api, group_id)).map(({ display_name }) => display_name),
    ).toEqual([''])
    expect((await groupQuery(member.api, '/group/admin_list', group_id)).data[0].display_name).toBe(
      '',
    )
    await allow(false)
    try {
      expect(await namesSeenBy(member.api)).toEqual(all)
    } finally {
      await allow(true)
    }
    await hide(0)
    expect(await namesSeenBy(member.api)).toEqual(all)
  })
})
