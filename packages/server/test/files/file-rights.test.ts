/** Who may upload what for whom, and who may have it, on both databases (rules J1, J3). */
import { type Api, anyBackend, type Json, type Session } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { followed } from '../support/files/file-upkeep.js'
import {
  fetchAs,
  fetchBytes,
  fileTypes,
  png,
  sendFile,
  signOf,
  targets,
  ticketFor,
  upload,
} from '../support/files/files.js'
import { sendToGroup } from '../support/groups/group-messaging.js'
import { aGroup, groupCall } from '../support/groups/groups.js'
import { recall } from '../support/messaging/message-operations.js'
import { sendText } from '../support/messaging/messaging.js'
import { WatchedServer } from '../support/watched-server.js'

const hourMs = 3_600_000

/** The bytes of the file, or the code of the refusal. */
type Outcome = 'file' | number

describe.each(anyBackend())('who may have a file on $name', (backend) => {
  let watched: WatchedServer
  let api: Api
  let operator: Api

  beforeAll(async () => {
    watched = await WatchedServer.start(backend)
    api = watched.api
    operator = api.as(watched.server.operatorToken)
  })

  afterAll(async () => {
    await watched?.[Symbol.asyncDispose]()
  })

  const people = (count: number) =>
    Promise.all(Array.from({ length: count }, () => api.newSession())) as Promise<
      [Session, Session, Session, Session, Session, Session, Session]
    >
  const outcomeOf = async (token: string | null, url: string): Promise<Outcome> => {
    const got = await fetchAs(api, token, url)
    if (typeof got === 'number') return got
    expect(got).toEqual(png)
    return 'file'
  }
  /** With an Admin token and what its headers name. */
  const adminOutcome = async (url: string, headers: Record<string, string>): Promise<Outcome> => {
    const { body } = await fetchBytes(url, {
      headers: {
        'access-token': watched.server.adminToken,
        app_id: watched.server.appId,
        ...headers,
      },
    })
    return body.equals(png) ? 'file' : (JSON.parse(body.toString()) as Json).code
  }
  /** As if the user had joined so much later. */
  const joinLater = (groupId: number, user: Session, ms: number) =>
    watched.sql.run(
      `update group_members set joined_at = joined_at + ${ms} where group_id = ${groupId} and user_id = ${user.id}`,
    )

  it('of one user to another: both, and an Admin token', async () => {
    const [alice, bob, carol] = await people(3)
    const url = await sendFile(alice.api, { to_id: bob.id }, png)
    expect(await outcomeOf(alice.token, url)).toBe('file')
    expect(await outcomeOf(bob.token, url)).toBe('file')
    expect(await outcomeOf(carol.token, url)).toBe(answerCode.no_permission)
    expect(await outcomeOf(null, `${url}&app_id=${watched.server.appId}`)).toBe(
      answerCode.token_missing,
    )
    expect(await outcomeOf('hmu_nobody', url)).toBe(answerCode.token_invalid)
    expect(await adminOutcome(url, {})).toBe('file')
    expect(await adminOutcome(url, { user_id: String(bob.id) })).toBe('file')
    expect(await adminOutcome(url, { user_id: String(carol.id) })).toBe(answerCode.no_permission)
    const group = await aGroup(alice, { members: [bob] })
    expect(await adminOutcome(url, { group_id: String(group) })).toBe(answerCode.no_permission)
  })

  it('of one user to another: also when one of them has blocked the other since, or is gone', async () => {
    const [alice, bob] = await people(2)
    const url = await sendFile(alice.api, { to_id: bob.id }, png)
    await bob.api.succeed('POST', '/roster/block', { query: { user_id: alice.id } })
    expect(await outcomeOf(bob.token, url)).toBe('file')
    await expectCode(ticketFor(alice.api, { to_id: bob.id }), 'blocked_by_recipient')
    await alice.api.succeed('POST', '/user/delete', { body: { password: alice.password } })
    expect(await outcomeOf(bob.token, url)).toBe('file')
    expect(await outcomeOf(alice.token, url)).toBe(answerCode.token_expired)
  })

  it('in a group: members, and nobody who has left, was kicked, was blocked, or never was there', async () => {
    const [owner, member, leaver, kicked, blocked, outsider] = await people(6)
    const group = await aGroup(owner, { members: [member, leaver, kicked, blocked] })
    const url = await sendFile(owner.api, { to_id: group, to_type: targets.group }, png)
    const all = [owner, member, leaver, kicked, blocked]
    for (const { token } of all) expect(await outcomeOf(token, url)).toBe('file')
    expect(await outcomeOf(outsider.token, url)).toBe(answerCode.no_permission)
    await leaver.api.succeed('POST', '/group/leave', { query: { group_id: group } })
    await groupCall(owner.api, '/group/kick', group, { user_list: [kicked.id] })
    await groupCall(owner.api, '/group/block', group, { user_list: [blocked.id] })
    const after = await Promise.all(all.map(({ token }) => outcomeOf(token, url)))
    const { no_permission: noPermission } = answerCode
    expect(after).toEqual(['file', 'file', noPermission, noPermission, noPermission])
    expect(await adminOutcome(url, { group_id: String(group) })).toBe('file')
    const other = await aGroup(member)
    expect(await adminOutcome(url, { group_id: String(other) })).toBe(noPermission)
    await owner.api.succeed('POST', '/group/destroy', { query: { group_id: group } })
    expect(await outcomeOf(member.token, url)).toBe('file')
  })

  it('of a recalled message: closes at once for its recipient, unless another message has it', async () => {
    const [alice, bob] = await people(2)
    const url = await sendFile(alice.api, { to_id: bob.id }, png)
    const send = () => sendText(alice.api, bob.id, 'look', { attachment: url })
    const [first, second] = [await send(), await send()]
    await followed(watched.sql)
    expect((await recall(alice.api, bob.id, first)).code).toBe(200)
    expect(await outcomeOf(bob.token, url)).toBe('file')
    const copy = await bob.api.call('GET', '/file/upload/forward', {
      query: { file_sign: signOf(url), to_id: bob.id },
    })
    expect((await recall(alice.api, bob.id, second)).code).toBe(200)
    expect(await outcomeOf(bob.token, url)).toBe(answerCode.file_not_found)
    expect(await outcomeOf(alice.token, url)).toBe('file')
    expect(await adminOutcome(url, {})).toBe('file')
    expect(await outcomeOf(bob.token, copy.envelope.data)).toBe('file')
  })

  it('of a recalled message in a group: closes at once for the members, and not by a recall of others', async () => {
    const [owner, member, other] = await people(3)
    const group = await aGroup(owner, { members: [member, other] })
    const url = await sendFile(member.api, { to_id: group, to_type: targets.group }, png)
    const send = (from: Session) => sendToGroup(from.api, group, 'look', { attachment: url })
    const theirs = await send(other)
    expect((await recall(other.api, group, theirs)).code).toBe(200)
    expect(await outcomeOf(owner.token, url)).toBe('file')
    const own = await send(member)
    expect((await recall(owner.api, group, own)).code).toBe(200)
    expect(await outcomeOf(other.token, url)).toBe(answerCode.file_not_found)
    expect(await outcomeOf(member.token, url)).toBe('file')
  })

  it('a ticket for a group ends when its user leaves', async () => {
    const [owner, member] = await people(2)
    const group = await aGroup(owner, { members: [member] })
    const to = { to_id: group, to_type: targets.group }
    const { data: ticket } = (await ticketFor(member.api, to)).envelope
    await member.api.succeed('POST', '/group/leave', { query: { group_id: group } })
    await expectCode(upload(api, ticket, png), 'upload_ticket_invalid')
    await groupCall(owner.api, '/group/admin/member_join', group, { user_list: [member.id] })
    expect((await upload(api, ticket, png)).code).toBe(200)
  })

  it('in a group: those who join later only where they see its history, and always what is shared', async () => {
    const [owner, late, soon] = await people(3)
    const group = await aGroup(owner)
    const to = { to_id: group, to_type: targets.group }
    const url = await sendFile(owner.api, to, png)
    const shared = await sendFile(owner.api, { ...to, file_type: fileTypes.sharedPlain }, png)
    await groupCall(owner.api, '/group/admin/member_join', group, { user_list: [late.id, soon.id] })
    await joinLater(group, late, 2 * hourMs)
    await joinLater(group, soon, hourMs / 2)
    expect(await outcomeOf(late.token, url)).toBe(answerCode.no_permission)
    expect(await outcomeOf(late.token, shared)).toBe('file')
    // The message that names the file may have come as late as its ticket allows.
    expect(await outcomeOf(soon.token, url)).toBe('file')
    const visible = { group_id: group, value: true }
    await owner.api.succeed('POST', '/group/settings/history_visible', { body: visible })
    expect(await outcomeOf(late.token, url)).toBe('file')
  })

  it('forwarded: the new recipient, and the one who forwarded it', async () => {
    const [alice, bob, carol, dave] = await people(4)
    const url = await sendFile(alice.api, { to_id: bob.id }, png)
    const group = await aGroup(bob, { members: [carol] })
    const { data: forwarded } = await bob.api.succeed('GET', '/file/upload/forward', {
      query: { file_sign: signOf(url), to_id: group },
    })
    const outcomes = [alice, bob, carol, dave].map(({ token }) => outcomeOf(token, forwarded))
    expect(await Promise.all(outcomes)).toEqual(['file', 'file', 'file', answerCode.no_permission])
    const onward = await dave.api.call('GET', '/file/upload/forward', {
      query: { file_sign: signOf(forwarded), to_id: alice.id },
    })
    expect(onward.code).toBe(answerCode.no_permission)
  })

  it('that is an avatar: everybody in the application, and nobody of another one', async () => {
    const [alice, bob] = await people(2)
    const { data: ticket } = await alice.api.succeed('GET', '/file/upload/avatar/user')
    await upload(api, ticket, png)
    expect(await outcomeOf(bob.token, ticket.download_url)).toBe('file')
    const chat = await sendFile(alice.api, { to_id: bob.id }, png)
    const [, fileId] = JSON.parse(Buffer.from(signOf(chat).slice(0, -43), 'base64url').toString())
    const bare = `${api.options.url}/file/download/avatar?object_name=${fileId}`
    expect(await outcomeOf(alice.token, bare)).toBe(answerCode.file_not_found)
    const { data: other } = await operator.succeed('POST', '/operator/v1/app/create')
    for (const url of [ticket.download_url, chat]) {
      const { body } = await fetchBytes(url, {
        headers: { app_id: other.app_id, 'access-token': other.admin_token },
      })
      expect([answerCode.file_not_found, answerCode.file_signature_invalid]).toContain(
        (JSON.parse(body.toString()) as Json).code,
      )
    }
  })

  it('is asked for by tickets for those whom one may write to', async () => {
    const [alice, bob, stranger, banned] = await people(4)
    const group = await aGroup(bob, { members: [alice, banned] })
    await groupCall(bob.api, '/group/ban', group, { user_list: [banned.id], duration: 5 })
    await stranger.api.succeed('POST', '/user/settings', {
      body: { user_id: stranger.id, stranger_chat: 2 },
    })
    const asked = async (by: Session, to: Parameters<typeof ticketFor>[1]) =>
      (await ticketFor(by.api, to)).code
    expect(await asked(alice, { to_id: group })).toBe(200)
    expect(await asked(alice, { to_id: bob.id })).toBe(200)
    expect(await asked(alice, { to_id: alice.id })).toBe(200)
    expect(await asked(alice, { to_id: group, to_type: targets.user })).toBe(
      answerCode.user_not_found,
    )
    expect(await asked(alice, { to_id: bob.id, to_type: targets.group })).toBe(
      answerCode.group_not_found,
    )
    expect(await asked(alice, { to_id: 7 })).toBe(answerCode.user_not_found)
    expect(await asked(alice, { to_id: stranger.id })).toBe(answerCode.stranger_refused)
    expect(await asked(banned, { to_id: group })).toBe(answerCode.member_banned)
    expect(await asked(stranger, { to_id: group })).toBe(answerCode.not_group_member)
    const shared = { to_id: group, file_type: fileTypes.sharedPlain }
    expect(await asked(alice, shared)).toBe(200)
    expect(await asked(stranger, shared)).toBe(answerCode.member_required)
    expect(await asked(alice, { ...shared, to_type: targets.user })).toBe(
      answerCode.file_type_invalid,
    )
    await stranger.api.succeed('POST', '/user/delete', { body: { password: stranger.password } })
    expect(await asked(alice, { to_id: stranger.id })).toBe(answerCode.user_deleted)
  })

  it('is the avatar of a group by those who may change it', async () => {
    const [owner, member, outsider] = await people(3)
    const group = await aGroup(owner, { members: [member] })
    const asked = async (by: Api) =>
      (await by.call('GET', '/file/upload/avatar/group', { query: { group_id: group } })).code
    expect(await asked(owner.api)).toBe(200)
    expect(await asked(member.api)).toBe(answerCode.group_admin_required)
    expect(await asked(outsider.api)).toBe(answerCode.group_admin_required)
    expect(await asked(api.admin())).toBe(200)
    const { data: ticket } = await api
      .admin()
      .succeed('GET', '/file/upload/avatar/group', { query: { group_id: group } })
    expect((await upload(api, ticket, png)).code).toBe(200)
    expect(await outcomeOf(outsider.token, ticket.download_url)).toBe('file')
    const modify = { group_id: group, value: true }
    await owner.api.succeed('POST', '/group/settings/allow_member_modify', { body: modify })
    expect(await asked(member.api)).toBe(200)
  })
})
