/** Rules F4b and F7: how others bring a user into groups, and what protects the user from it. */
import { type Api, anyBackend, testBackends } from '@hermod/testkit'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { block, changeSettings, connect, type Person, registerPeople } from '../support/contacts.js'
import {
  aGroup,
  expectSuccess,
  groupCall,
  groupInvitations,
  memberIds,
  outcomes,
} from '../support/groups/groups.js'
import { InProcessServer, ownServer } from '../support/in-process-server.js'

/** The text of code 10006. */
const blockedText = 'in the block list'
const strangerChats = { unset: 0, allow: 1, reject: 2 } as const

/** A user with a token, and the same user called for by the Admin. */
interface Caller extends Person {
  readonly own: Api
}

async function callers(server: InProcessServer, count: number): Promise<Caller[]> {
  const people = await registerPeople(server, count)
  return Promise.all(
    people.map(async (person) => {
      const { api: own } = await server.api.sessionOf({ ...person, password: '' })
      return { ...person, own }
    }),
  )
}

async function updateApp({ api, appId, operatorToken }: InProcessServer, settings: object) {
  const body = { app_id: appId, settings }
  await api.as(operatorToken).succeed('POST', '/operator/v1/app/update', { body })
}

/** The ways in which others bring users into a group; create has no results. */
const ways = {
  create: async (api: Api, _: Caller, ...users: readonly Person[]) => {
    const { data } = await api.succeed('POST', '/group/create', {
      body: { name: 'Group', user_list: users.map(({ id }) => id) },
    })
    return { groupId: Number(data.group_id), results: null }
  },
  invite: (api: Api, owner: Caller, ...users: readonly Person[]) =>
    byList('/group/invite', api, owner, users),
  member_join: (api: Api, owner: Caller, ...users: readonly Person[]) =>
    byList('/group/admin/member_join', api, owner, users),
} as const

async function byList(path: string, api: Api, owner: Caller, users: readonly Person[]) {
  const groupId = await aGroup(owner)
  const answer = await groupCall(api, path, groupId, { user_list: users.map(({ id }) => id) })
  expect(answer.code).toBe(200)
  return { groupId, results: outcomes(answer) }
}

async function standing(owner: Caller, groupId: number, user: Person) {
  if ((await memberIds(owner.api, groupId)).includes(user.id)) return 'member'
  const invitations = await groupInvitations(user.api)
  return invitations.some(({ group_id }) => group_id === groupId) ? 'invitation' : 'outside'
}

describe.each(anyBackend())('additions to groups on $name', (backend) => {
  const server = ownServer(backend)
  let owner: Caller
  let user: Caller
  let friend: Caller

  afterAll(async () => {})

  beforeEach(async () => {
    ;[owner, user, friend] = (await callers(server, 3)) as [Caller, Caller, Caller]
  })

  const setAppSetting = (settings: object) => updateApp(server, settings)

  describe.each(Object.entries(ways))('%s', (way, bring) => {
    it('leaves out a user who blocks the caller, and brings in the others', async () => {
      await block(user.api, owner.id)
      const { groupId, results } = await bring(owner.own, owner, user, friend)
      expect(await standing(owner, groupId, user)).toBe('outside')
      expect(await standing(owner, groupId, friend)).toBe('member')
      if (results) expect(results).toEqual({ [user.id]: blockedText, [friend.id]: null })
    })

    it('brings in a user whom the caller blocks', async () => {
      await block(owner.api, user.id)
      const { groupId } = await bring(owner.own, owner, user)
      expect(await standing(owner, groupId, user)).toBe('member')
    })

    it('gives a user who refuses strangers an invitation, and a membership from a contact', async () => {
      await changeSettings(user, { stranger_chat: strangerChats.reject })
      await changeSettings(friend, { stranger_chat: strangerChats.reject })
      await connect(friend, owner)
      const { groupId, results } = await bring(owner.own, owner, user, friend)
      expect(await standing(owner, groupId, user)).toBe('invitation')
      expect(await standing(owner, groupId, friend)).toBe('member')
      if (results) expect(results).toEqual({ [user.id]: null, [friend.id]: null })
      expectSuccess(
        await groupCall(user.own, '/group/invite/handle', groupId, {
          user_id: owner.id,
          approval: true,
        }),
      )
      expect(await standing(owner, groupId, user)).toBe('member')
    })

    it('follows the default of the application where a user has not set stranger_chat', async () => {
      await changeSettings(friend, { stranger_chat: strangerChats.allow })
      await setAppSetting({ stranger_chat_default: strangerChats.reject })
      try {
        const { groupId } = await bring(owner.own, owner, user, friend)
        expect(await standing(owner, groupId, user)).toBe('invitation')
        expect(await standing(owner, groupId, friend)).toBe('member')
      } finally {
        await setAppSetting({ stranger_chat_default: strangerChats.allow })
      }
    })

    it('passes over blocks and strangers with an Admin token', async () => {
      await block(user.api, owner.id)
      await changeSettings(friend, { stranger_chat: strangerChats.reject })
      const { groupId } = await bring(owner.api, owner, user, friend)
      expect(await standing(owner, groupId, user)).toBe('member')
      expect(await standing(owner, groupId, friend)).toBe('member')
    })

    it('asks users with group_confirm, except member_join with an Admin token', async () => {
      await changeSettings(user, { group_confirm: true })
      const byUser = await bring(owner.own, owner, user)
      expect(await standing(owner, byUser.groupId, user)).toBe('invitation')
      const byAdmin = await bring(owner.api, owner, user)
      expect(await standing(owner, byAdmin.groupId, user)).toBe(
        way === 'member_join' ? 'member' : 'invitation',
      )
    })
  })

  it('others fill half of the places of a user, who can use the other half', async () => {
    await setAppSetting({ group_member_limit: 5 })
    try {
      const brought = []
      for (const bring of [ways.create, ways.member_join, ways.invite])
        brought.push((await bring(owner.own, owner, user)).groupId)
      const found = await Promise.all(brought.map((groupId) => standing(owner, groupId, user)))
      expect(found).toEqual(['member', 'member', 'invitation'])
      const own = [await aGroup({ api: user.own }), await aGroup({ api: user.own })]
      // The user accepts: this is the last place, and not one that others have filled.
      const accepted = await groupCall(user.own, '/group/invite/handle', brought[2] as number, {
        user_id: owner.id,
        approval: true,
      })
      expect([own.length, accepted.code]).toEqual([2, 200])
      const full = await groupCall(owner.own, '/group/invite', await aGroup(owner), {
        user_list: [user.id],
      })
      expect(outcomes(full)).toEqual({ [user.id]: 'user has joined too many groups' })
    } finally {
      await setAppSetting({ group_member_limit: 5_000 })
    }
  })

  it('a place that others filled is free again when the user leaves or the group ends', async () => {
    await setAppSetting({ group_member_limit: 2 })
    try {
      const hosts = await callers(server, 5)
      const groups: number[] = []
      const add = async () => {
        const host = hosts[groups.length] as Caller
        const { groupId } = await ways.create(host.own, host, user)
        groups.push(groupId)
        return standing(host, groupId, user)
      }
      expect([await add(), await add()]).toEqual(['member', 'invitation'])
      await user.own.succeed('DELETE', '/group/leave', { query: { group_id: groups[0] } })
      expect([await add(), await add()]).toEqual(['member', 'invitation'])
      await (hosts[2] as Caller).own.succeed('DELETE', '/group/destroy', {
        query: { group_id: groups[2] },
      })
      expect(await add()).toBe('member')
    } finally {
      await setAppSetting({ group_member_limit: 5_000 })
    }
  })
})

describe.each(testBackends())('simultaneous additions to groups on $name', (backend) => {
  it('others never fill more than half of the places of a user', async () => {
    await using server = await InProcessServer.start(backend)
    const limit = 10
    await updateApp(server, { group_member_limit: limit })
    const [user, ...owners] = (await callers(server, 6)) as [Caller, ...Caller[]]
    const attempts = owners.flatMap((owner) =>
      Object.values(ways).map(async (bring) => {
        const { groupId } = await bring(owner.own, owner, user)
        return { owner, groupId }
      }),
    )
    const groups = await Promise.all(attempts)
    const found = await Promise.all(
      groups.map(({ owner, groupId }) => standing(owner, groupId, user)),
    )
    expect(found.filter((each) => each === 'member')).toHaveLength(limit / 2)
    expect(found.filter((each) => each === 'invitation')).toHaveLength(groups.length - limit / 2)
  })
})
