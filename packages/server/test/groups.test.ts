/** Making and reading groups, on both databases. */
import { testBackends } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { registerPeople } from './support/contacts.js'
import { aGroup, groupCall, groupInfo, groupNotices, outcomes } from './support/groups.js'
import { startWatchedServer, type WatchedServer } from './support/watched-server.js'

for (const backend of testBackends()) {
  describe(`groups on ${backend.name}`, () => {
    let watched: WatchedServer

    beforeAll(async () => {
      watched = await startWatchedServer(backend)
    })

    afterAll(async () => {
      await watched?.[Symbol.asyncDispose]()
    })

    it('have their creator as owner and member, and the defaults of a fresh group', async () => {
      const [alice] = await registerPeople(watched.server, 1)
      if (!alice) throw new Error('nobody')
      const group_id = await aGroup(alice)
      const { created_at, updated_at, ...group } = await groupInfo(alice.api, group_id)
      expect(updated_at).toBe(created_at)
      expect(group).toEqual({
        apply_approval: 1,
        avatar: '',
        ban_expire_time: 0,
        capacity: 2000,
        count: 1,
        description: '',
        ext: '',
        group_id,
        hide_member_info: false,
        history_visible: false,
        member_invite: true,
        member_modify: false,
        msg_mute_mode: 0,
        msg_push_mode: 0,
        name: 'Group',
        owner_id: alice.id,
        read_ack: false,
        status: 0,
        type: 0,
      })
      expect(await groupNotices(watched.sql, group_id)).toEqual([{ kind: 'created', actor: alice.id, users: [alice.id], content: '' }])
    })

    it('take users in whom an admin adds', async () => {
      const people = await registerPeople(watched.server, 3)
      const [alice, bob, carol] = people
      if (!alice || !bob || !carol) throw new Error('nobody')
      const group_id = await aGroup(alice)
      const added = await groupCall(alice.api, '/group/admin/member_join', group_id, { user_list: [bob.id, carol.id, bob.id, 1, alice.id] })
      expect(outcomes(added)).toEqual({
        [bob.id]: null,
        [carol.id]: null,
        1: 'user does not exist',
        [alice.id]: 'user is already a member of the group',
      })
      expect((await groupInfo(carol.api, group_id)).count).toBe(3)
    })
  })
}
