/** Joining a group by a QR code, on both databases. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Api, anyBackend } from '@hermod/testkit'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type GroupQr, groupQrText } from '../../dist/domain/groups/admission/group-qr.js'
import { purposeKey } from '../../dist/lib/secrets/secret-keys.js'
import { answerCode, expectCode, expectSuccesses } from '../support/answer-codes.js'
import { PeoplePool, type Person } from '../support/contacts.js'
import {
  aGroup,
  expectSuccess,
  groupCall,
  groupEventsOf,
  groupInfo,
  groupQuery,
  memberIds,
} from '../support/groups/groups.js'
import { sharedServer } from '../support/in-process-server.js'

const dayMs = 24 * 3_600_000
/** Of the signature at the end, in characters. */
const macLength = 43
const crowd = 8
const qrKey = (secretKey: Buffer) => purposeKey(secretKey, 'group QR texts')

describe.each(anyBackend())('QR codes of groups on $name', (backend) => {
  const server = sharedServer(backend)
  let admin: Api
  let pool: PeoplePool
  let owner: Person
  let member: Person
  let guest: Person

  beforeAll(async () => {
    admin = server.api.admin()
    pool = new PeoplePool(server, 60)
  })

  beforeEach(async () => {
    ;[owner, member, guest] = (await people(3)) as [Person, Person, Person]
  })

  const people = (count: number): Promise<Person[]> => pool.take(count)

  const sign = (api: Api, group_id: number) => groupQuery(api, '/group/qrcode/sign', group_id)
  const scan = (api: Api, qr_info: string) =>
    api.call('POST', '/group/qrcode/invite', { body: { qr_info } })

  async function qrText(api: Api, group_id: number): Promise<string> {
    return expectSuccess(await sign(api, group_id)).data.qr_info
  }

  /** A text as the server itself would sign it. */
  function signed(qr: Partial<GroupQr> & Pick<GroupQr, 'groupId'>): string {
    const key = qrKey(readFileSync(join(server.dataDir, 'secret.key')))
    return groupQrText(key, {
      appId: server.appId,
      signerId: 0,
      expiresAt: Date.now() + dayMs,
      ...qr,
    })
  }

  async function kickTimes(times: number, group_id: number, { id }: Person): Promise<void> {
    for (let kick = 0; kick < times; kick++) {
      expectSuccess(
        await groupCall(owner.api, '/group/admin/member_join', group_id, { user_list: [id] }),
      )
      expectSuccess(await groupCall(owner.api, '/group/kick', group_id, { user_list: [id] }))
    }
  }

  const changeGroup = async (path: string, group_id: number, params: object) =>
    expectSuccess(await groupCall(owner.api, path, group_id, params))

  it('let users join at once, however the group takes applications', async () => {
    for (const apply_approval of [0, 1, 2]) {
      const group_id = await aGroup(owner, { members: [member] })
      await changeGroup('/group/settings/require_admin_approval', group_id, { apply_approval })
      const joined = await scan(guest.api, await qrText(member.api, group_id))
      expect(joined.envelope).toMatchObject({ code: answerCode.ok, data: { group_id } })
      expect(await memberIds(owner.api, group_id)).toContain(guest.id)
      expect((await groupInfo(guest.api, group_id)).count).toBe(3)
      const joins = (await groupEventsOf(server.sql, group_id)).filter(
        ({ kind }) => kind === 'joined',
      )
      expect(joins.at(-1)).toEqual({
        kind: 'joined',
        actor: guest.id,
        users: [guest.id],
        content: '',
      })
    }
  })

  it('are good for as long as applications to groups', async () => {
    const group_id = await aGroup(owner)
    const { data } = expectSuccess(await sign(owner.api, group_id))
    expect(Object.keys(data).toSorted()).toEqual(['create_at', 'expire_at', 'qr_info'])
    expect(data.expire_at - data.create_at).toBe(7 * dayMs)
    await expectCode(
      scan(guest.api, signed({ groupId: group_id, expiresAt: 1 })),
      'qr_code_expired',
    )
    await expectCode(scan(guest.api, signed({ groupId: group_id })), 'ok')
  })

  it('have an older form that means the same', async () => {
    const group_id = await aGroup(owner)
    const { data } = expectSuccess(await groupQuery(owner.api, '/app/qrcode/group_sign', group_id))
    expect(Object.keys(data).toSorted()).toEqual(['expired', 'qr_info'])
    const query = { qr_info: data.qr_info }
    expect((await guest.api.call('GET', '/app/qrcode/group_invite', { query })).data).toEqual({
      group_id,
    })
    await expectCode(
      guest.api.call('GET', '/app/qrcode/group_invite', { query }),
      'already_group_member',
    )
    const { data: newer } = expectSuccess(await sign(owner.api, group_id))
    await expectCode(
      member.api.call('GET', '/app/qrcode/group_invite', {
        query: { qr_info: newer.qr_info },
      }),
      'ok',
    )
  })

  it('are valid while the user who made them may invite', async () => {
    const [adminMember, other] = (await people(2)) as [Person, Person]
    const group_id = await aGroup(owner, { members: [member, other], admins: [adminMember] })
    const [ofAdmin, ofMember, ofOther, ofToken] = [
      await qrText(adminMember.api, group_id),
      await qrText(member.api, group_id),
      await qrText(other.api, group_id),
      await qrText(admin, group_id),
    ]
    const comeAndGo = async (text: string): Promise<number> => {
      const answer = await scan(guest.api, text)
      if (answer.code === answerCode.ok)
        expectSuccess(await groupCall(guest.api, '/group/leave', group_id))
      return answer.code
    }
    expect(await comeAndGo(ofMember)).toBe(answerCode.ok)
    await changeGroup('/group/settings/allow_member_invitation', group_id, { value: false })
    expect(await comeAndGo(ofMember)).toBe(answerCode.qr_code_invalid)
    expect(await comeAndGo(ofAdmin)).toBe(answerCode.ok)
    await changeGroup('/group/admin/remove', group_id, { user_list: [adminMember.id] })
    expect(await comeAndGo(ofAdmin)).toBe(answerCode.qr_code_invalid)
    expect(await comeAndGo(ofToken)).toBe(answerCode.ok)
    await changeGroup('/group/settings/allow_member_invitation', group_id, { value: true })
    expect([await comeAndGo(ofAdmin), await comeAndGo(ofMember)]).toEqual([
      answerCode.ok,
      answerCode.ok,
    ])
    expectSuccess(await groupCall(member.api, '/group/leave', group_id))
    await changeGroup('/group/kick', group_id, { user_list: [other.id] })
    expect([await comeAndGo(ofMember), await comeAndGo(ofOther)]).toEqual([
      answerCode.qr_code_invalid,
      answerCode.qr_code_invalid,
    ])
  })

  it('are invalid when they were changed, cut, made elsewhere or for another application', async () => {
    const group_id = await aGroup(owner)
    const text = await qrText(owner.api, group_id)
    const payload = text.slice(0, -macLength)
    const mac = text.slice(-macLength)
    const claims = Buffer.from(
      JSON.stringify([server.appId, group_id, 0, Date.now() + dayMs]),
    ).toString('base64url')
    const elsewhere = {
      appId: server.appId,
      groupId: group_id,
      signerId: 0,
      expiresAt: Date.now() + dayMs,
    }
    const forged = [
      'x',
      text.slice(0, -1),
      `${text}A`,
      payload,
      mac,
      `${claims}${mac}`,
      `${payload}.${mac}`,
      groupQrText(qrKey(Buffer.from('the secret key of another service')), elsewhere),
      signed({ groupId: group_id, appId: 'other' }),
    ]
    for (const each of forged)
      expect((await scan(guest.api, each)).code, each).toBe(answerCode.qr_code_invalid)
    expect(await memberIds(owner.api, group_id)).toEqual([owner.id])
  })

  it('are of no use in another application', async () => {
    const { data: app } = await server.api
      .as(server.operatorToken)
      .succeed('POST', '/operator/v1/app/create')
    const there = new Api({
      url: server.url,
      appId: app.app_id,
      adminToken: app.admin_token,
    })
    const { id } = await there
      .admin()
      .succeed('POST', '/user/register/v2', {
        body: { username: 'somebody', password: 'correct horse' },
      })
      .then(({ data }) => ({ id: data.user_id }))
    const text = await qrText(owner.api, await aGroup(owner))
    await expectCode(scan(there.admin({ userId: id }), text), 'qr_code_invalid')
    there.close()
  })

  it('let nobody in who is in, blocked, kicked too often, or for whom there is no room', async () => {
    const group_id = await aGroup(owner, { members: [member] })
    const text = await qrText(owner.api, group_id)
    await expectCode(scan(member.api, text), 'already_group_member')
    await changeGroup('/group/settings/capacity', group_id, { value: 2 })
    await expectCode(scan(guest.api, text), 'group_full')
    await changeGroup('/group/settings/capacity', group_id, { value: 3 })
    await kickTimes(3, group_id, guest)
    await expectCode(scan(guest.api, text), 'ok')
    await changeGroup('/group/kick', group_id, { user_list: [guest.id] })
    await expectCode(scan(guest.api, text), 'kicked_too_often')
    await changeGroup('/group/block', group_id, { user_list: [guest.id] })
    await expectCode(scan(guest.api, text), 'in_group_block_list')
    expect(await memberIds(owner.api, group_id)).toEqual([owner.id, member.id])
  })

  it('of a dissolved group are of no use', async () => {
    const group_id = await aGroup(owner)
    const text = await qrText(owner.api, group_id)
    await changeGroup('/group/destroy', group_id, {})
    await expectCode(scan(guest.api, text), 'group_not_found')
  })

  it('bring a user in once who scans twice at once', async () => {
    const group_id = await aGroup(owner)
    const text = await qrText(owner.api, group_id)
    const answers = await Promise.all(Array.from({ length: crowd }, () => scan(guest.api, text)))
    expectSuccesses(answers, 1, 'already_group_member')
    expect((await groupInfo(owner.api, group_id)).count).toBe(2)
  })

  it('let one in for the last place', async () => {
    const crowding = await people(crowd)
    const group_id = await aGroup(owner)
    const text = await qrText(owner.api, group_id)
    await changeGroup('/group/settings/capacity', group_id, { value: 2 })
    const answers = await Promise.all(crowding.map(({ api }) => scan(api, text)))
    expectSuccesses(answers, 1, 'group_full')
    expect(await memberIds(owner.api, group_id)).toHaveLength(2)
  })

  it('are checked again when the user who made them leaves meanwhile', async () => {
    const group_id = await aGroup(owner, { members: [member] })
    const text = await qrText(member.api, group_id)
    const [scanned] = await Promise.all([
      scan(guest.api, text),
      groupCall(owner.api, '/group/kick', group_id, { user_list: [member.id] }),
    ])
    expect([answerCode.ok, answerCode.qr_code_invalid]).toContain(scanned.code)
    expect((await memberIds(owner.api, group_id)).includes(guest.id)).toBe(
      scanned.code === answerCode.ok,
    )
    await expectCode(scan(guest.api, text), 'qr_code_invalid')
  })
})
