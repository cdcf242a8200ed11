import { anyBackend } from '@hermod/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { answerCode, expectCode, expectSuccesses } from '../support/answer-codes.js'
import { codes, type Person } from '../support/contacts.js'
import { Admission, crowd, nobody, status } from '../support/groups/admission.js'
import { expectSuccess, groupCall, groupInvitations, outcomes } from '../support/groups/groups.js'
import { sharedServer } from '../support/in-process-server.js'

const dayMs = 24 * 3_600_000
const kickedText = 'user was kicked too often and cannot join'

describe.each(anyBackend())('invitations to groups on $name', (backend) => {
  const server = sharedServer(backend)
  const admission = new Admission(server)
  const {
    apply,
    cautiousPeople,
    changeGroup,
    events,
    expire,
    invitationStatus,
    invite,
    kickTimes,
    members,
    people,
    respond,
    setCapacity,
    theGroup,
  } = admission
  let owner: Person
  let helper: Person
  let member: Person
  let guest: Person

  beforeEach(async () => {
    ;({ owner, helper, member, guest } = await admission.begin())
  })

  describe('inviting', () => {
    it('takes in who does not want to be asked, and asks the others', async () => {
      const [asked, sure, deleted] = [...(await cautiousPeople(1)), ...(await people(2))] as [
        Person,
        Person,
        Person,
      ]
      await deleted.api.succeed('POST', '/user/delete', { body: {} })
      const group_id = await theGroup()
      const user_list = [asked.id, sure.id, nobody, asked.id, deleted.id, member.id, sure.id]
      const invited = await groupCall(member.api, '/group/invite', group_id, {
        user_list,
        reason: 'come',
      })
      expect(invited.data.map(({ user_id }: { user_id: number }) => user_id)).toEqual([
        asked.id,
        sure.id,
        nobody,
        deleted.id,
        member.id,
      ])
      expect(outcomes(invited)).toEqual({
        [asked.id]: null,
        [sure.id]: null,
        [nobody]: 'user does not exist',
        [deleted.id]: 'user has been deregistered',
        [member.id]: 'user is already a member of the group',
      })
      expect(await members(group_id)).toEqual([owner.id, helper.id, member.id, sure.id].toSorted())
      const [received, ...more] = await groupInvitations(asked.api)
      expect(more).toEqual([])
      const [row] = await server.sql.run(
        `select * from group_invitations where group_id = ${group_id}`,
      )
      expect(received).toEqual({
        expired_time: Number(row?.created_at) + 7 * dayMs,
        group_id,
        invitee_id: asked.id,
        inviter_id: member.id,
        reason: 'come',
        status: status.pending,
        updated_at: new Date(Number(row?.created_at)).toISOString(),
      })
      expect(await groupInvitations(sure.api)).toEqual([])
      expect((await events(group_id, 'invited', 'joined')).slice(-2)).toEqual([
        { kind: 'invited', actor: member.id, users: [asked.id], content: 'come' },
        { kind: 'joined', actor: member.id, users: [sure.id], content: '' },
      ])
    })

    it('by an ordinary member does not bring back who was kicked more than 3 times, an admin may', async () => {
      const [asked] = (await cautiousPeople(1)) as [Person]
      const group_id = await theGroup()
      await kickTimes(3, group_id, guest)
      expect(outcomes(await invite(member.api, group_id, [guest]))).toEqual({ [guest.id]: null })
      await changeGroup('/group/kick', group_id, { user_list: [guest.id] })
      await kickTimes(4, group_id, asked)
      const refused = await invite(member.api, group_id, [guest, asked])
      expect(outcomes(refused)).toEqual({ [guest.id]: kickedText, [asked.id]: kickedText })
      expect(await groupInvitations(asked.api)).toEqual([])
      expect(outcomes(await invite(helper.api, group_id, [guest, asked]))).toEqual({
        [guest.id]: null,
        [asked.id]: null,
      })
      expectSuccess(await respond(asked, group_id, helper.id, true))
      expect(await members(group_id)).toEqual(expect.arrayContaining([guest.id, asked.id]))
      await changeGroup('/group/kick', group_id, { user_list: [guest.id] })
      expectSuccess(
        await groupCall(helper.api, '/group/admin/member_join', group_id, {
          user_list: [guest.id],
        }),
      )
    })

    it('does not reach the blocked, nor more than there is room for', async () => {
      const [asked, ...crowding] = [...(await cautiousPeople(1)), ...(await people(crowd))] as [
        Person,
        ...Person[],
      ]
      const group_id = await theGroup()
      await changeGroup('/group/block', group_id, { user_list: [guest.id] })
      await setCapacity(group_id, 4)
      expect(outcomes(await invite(owner.api, group_id, [guest, asked]))).toEqual({
        [guest.id]: 'user is on the block list of the group',
        [asked.id]: null,
      })
      const answers = await Promise.all(
        crowding.map((each, index) => invite(index % 2 ? owner.api : member.api, group_id, [each])),
      )
      const reasons = answers.flatMap((answer) => Object.values(outcomes(answer)))
      expect(reasons.filter((reason) => reason === null)).toHaveLength(1)
      expect(reasons.filter((reason) => reason === 'group is full')).toHaveLength(crowd - 1)
      expect(await members(group_id)).toHaveLength(4)
    })

    it('at once by several leaves one invitation, of one of them', async () => {
      const [asked] = (await cautiousPeople(1)) as [Person]
      const group_id = await theGroup()
      const inviters = [owner, helper, member]
      for (const answer of await Promise.all(
        inviters.map(({ api }) => invite(api, group_id, [asked])),
      ))
        expectSuccess(answer)
      const received = await groupInvitations(asked.api)
      expect(received).toHaveLength(1)
      expect(inviters.map(({ id }) => id)).toContain(received[0]?.inviter_id)
      expectSuccess(await respond(asked, group_id, Number(received[0]?.inviter_id), true))
    })
  })

  describe('an invitation', () => {
    let invited: Person

    beforeEach(async () => {
      ;[invited] = (await cautiousPeople(1)) as [Person]
    })

    /** A group that the user is invited to by the member. */
    async function anInvitation(): Promise<number> {
      const group_id = await theGroup()
      expectSuccess(await invite(member.api, group_id, [invited]))
      return group_id
    }

    it.each(['the inviter', 'the invited user'])('is accepted by naming %s', async (named) => {
      const group_id = await anInvitation()
      expect(
        (await respond(invited, group_id, named === 'the inviter' ? member.id : invited.id, true))
          .data,
      ).toBe(true)
      expect(await members(group_id)).toContain(invited.id)
      expect(await invitationStatus(group_id, invited)).toBe(status.agreed)
      expect(await events(group_id, 'invitation_accepted', 'invitation_declined')).toEqual([
        { kind: 'invitation_accepted', actor: invited.id, users: [member.id], content: '' },
      ])
    })

    it('is declined, and can be sent again', async () => {
      const group_id = await anInvitation()
      expect((await respond(invited, group_id, invited.id, false)).data).toBe(true)
      expect(await members(group_id)).not.toContain(invited.id)
      expect(await invitationStatus(group_id, invited)).toBe(status.rejected)
      expect(await events(group_id, 'invitation_accepted', 'invitation_declined')).toEqual([
        { kind: 'invitation_declined', actor: invited.id, users: [member.id], content: '' },
      ])
      await expectCode(respond(invited, group_id, invited.id, true), 'group_invitation_not_open')
      expectSuccess(await invite(helper.api, group_id, [invited]))
      await expectCode(respond(invited, group_id, helper.id, true), 'ok')
    })

    it('of several is accepted in the name of the one that the list shows, and of nobody else', async () => {
      const group_id = await anInvitation()
      expectSuccess(await invite(helper.api, group_id, [invited]))
      const [{ inviter_id: inviterId } = { inviter_id: -1 }] = await groupInvitations(invited.api)
      for (const other of [guest.id, owner.id, 5])
        await expectCode(respond(invited, group_id, other, true), 'group_invitation_not_open')
      expect(await members(group_id)).not.toContain(invited.id)
      await expectCode(respond(invited, group_id, Number(inviterId), true), 'ok')
      expect(await members(group_id)).toContain(invited.id)
    })

    it('of an Admin token alone is of the system', async () => {
      const group_id = await theGroup()
      expectSuccess(await invite(server.api.admin(), group_id, [invited]))
      expect(await groupInvitations(invited.api)).toMatchObject([{ inviter_id: 0 }])
      await expectCode(respond(invited, group_id, 0, true), 'ok')
    })

    it('is nobody else’s to answer', async () => {
      const group_id = await anInvitation()
      expect(
        codes([
          await respond(guest, group_id, invited.id, true),
          await respond(guest, group_id, member.id, true),
        ]),
      ).toEqual([answerCode.group_invitation_not_open, answerCode.group_invitation_not_open])
      expect(await invitationStatus(group_id, invited)).toBe(status.pending)
      expect(await members(group_id)).not.toContain(invited.id)
    })

    it('is answered once', async () => {
      const group_id = await anInvitation()
      const answers = await Promise.all(
        Array.from({ length: crowd }, () => respond(invited, group_id, invited.id, true)),
      )
      expectSuccesses(answers, 1, 'group_invitation_not_open')
      expect(await members(group_id)).toHaveLength(4)
    })

    it('is accepted or declined when both happen at once', async () => {
      for (let round = 0; round < 3; round++) {
        const group_id = await anInvitation()
        const [accepted, declined] = await Promise.all([
          respond(invited, group_id, invited.id, true),
          respond(invited, group_id, invited.id, false),
        ])
        expectSuccesses([accepted, declined], 1, 'group_invitation_not_open')
        const isIn = accepted.code === answerCode.ok
        expect((await members(group_id)).includes(invited.id)).toBe(isIn)
        expect(await invitationStatus(group_id, invited)).toBe(
          isIn ? status.agreed : status.rejected,
        )
      }
    })

    it('that has run out cannot be answered and stays pending in the list', async () => {
      const group_id = await anInvitation()
      await expire('group_invitations', group_id)
      for (const approval of [true, false])
        await expectCode(
          respond(invited, group_id, invited.id, approval),
          'group_invitation_not_open',
        )
      expect(await groupInvitations(invited.api)).toMatchObject([
        { group_id, expired_time: 1, status: status.pending },
      ])
      expectSuccess(await invite(member.api, group_id, [invited]))
      await expectCode(respond(invited, group_id, invited.id, true), 'ok')
    })

    it('stays open while the group is full', async () => {
      const group_id = await anInvitation()
      await setCapacity(group_id, 3)
      expect((await respond(invited, group_id, invited.id, true)).envelope).toMatchObject({
        code: answerCode.group_full,
        data: null,
      })
      expect(await invitationStatus(group_id, invited)).toBe(status.pending)
      expect(await events(group_id, 'invitation_accepted')).toEqual([])
      await setCapacity(group_id, 4)
      await expectCode(respond(invited, group_id, invited.id, true), 'ok')
    })

    it('is worth nothing to a user who is blocked meanwhile', async () => {
      const group_id = await anInvitation()
      await changeGroup('/group/block', group_id, { user_list: [invited.id] })
      await expectCode(respond(invited, group_id, invited.id, true), 'group_invitation_not_open')
      await expectCode(apply(invited, group_id), 'in_group_block_list')
    })

    it('lets one in of those who accept for the last place', async () => {
      const racing = await cautiousPeople(crowd)
      const group_id = await theGroup()
      expectSuccess(await invite(owner.api, group_id, racing))
      await setCapacity(group_id, 4)
      const answers = await Promise.all(
        racing.map((each) => respond(each, group_id, owner.id, true)),
      )
      expectSuccesses(answers, 1, 'group_full')
      const winner = racing[answers.findIndex((answer) => answer.code === answerCode.ok)] as Person
      expect(await members(group_id)).toEqual(
        [owner.id, helper.id, member.id, winner.id].toSorted(),
      )
      for (const each of racing)
        expect(await invitationStatus(group_id, each)).toBe(
          each === winner ? status.agreed : status.pending,
        )
    })

    it('accepted while the user is blocked leaves the user outside', async () => {
      for (let round = 0; round < 3; round++) {
        const group_id = await anInvitation()
        const [accepted] = await Promise.all([
          respond(invited, group_id, invited.id, true),
          changeGroup('/group/block', group_id, { user_list: [invited.id] }),
        ])
        expect([answerCode.ok, answerCode.group_invitation_not_open]).toContain(accepted.code)
        expect(await members(group_id)).not.toContain(invited.id)
        expect(await invitationStatus(group_id, invited)).toBe(
          accepted.code === answerCode.ok ? status.agreed : status.pending,
        )
      }
    })

    it('accepted while the user is kicked makes a member or not, and never both', async () => {
      const group_id = await anInvitation()
      const [accepted, kicked] = await Promise.all([
        respond(invited, group_id, invited.id, true),
        groupCall(owner.api, '/group/kick', group_id, { user_list: [invited.id] }),
      ])
      expect(accepted.code).toBe(answerCode.ok)
      const wasKicked = outcomes(kicked)[invited.id] === null
      expect((await members(group_id)).includes(invited.id)).toBe(!wasKicked)
    })

    it('accepted while the group is dissolved is agreed or closed', async () => {
      for (let round = 0; round < 3; round++) {
        const group_id = await anInvitation()
        const [accepted] = await Promise.all([
          respond(invited, group_id, invited.id, true),
          changeGroup('/group/destroy', group_id),
        ])
        expect([answerCode.ok, answerCode.group_not_found]).toContain(accepted.code)
        expect(await invitationStatus(group_id, invited)).toBe(
          accepted.code === answerCode.ok ? status.agreed : status.pending,
        )
        const rows = await server.sql.run(
          `select user_id from group_members where group_id = ${group_id} and user_id = ${invited.id}`,
        )
        expect(rows).toHaveLength(accepted.code === answerCode.ok ? 1 : 0)
      }
    })
  })
})
