/** What one user wrote reaches nobody else, and nobody else changes it, whatever operation is called with whatever IDs. */
import {
  createGroup,
  issueTokenById,
  type Operation,
  operations,
  registerAnonymousUser,
} from '@hermod/protocol'
import { type Answer, type ServerProcess, testBackends } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { type Aim, intrusionsInto } from '../support/walk/walk-intrusions.js'
import { type MarkedWorld, type Marker, markedWorld } from '../support/walk/walk-markers.js'
import { snapshot } from '../support/walk/walk-snapshot.js'
import {
  type Account,
  type Identity,
  type Params,
  type Tenant,
  WalkWorld,
} from '../support/walk/walk-world.js'

/** The caller's own token has ended, or the caller itself: what an operation does to its own user when it is asked to. */
const endOfCaller = [answerCode.token_expired, answerCode.user_disabled, answerCode.user_deleted]
const maxLives = 3
const every = operations.map((operation) => ({ id: operation.id, operation }))

const intruderNames = [
  'a user of the same application',
  'a user of another application',
  'an Admin of another application, for its own user',
  'an Admin of another application, for the user',
  'an Admin of another application, for nobody',
  'an Admin of another application, for the group',
] as const
type IntruderName = (typeof intruderNames)[number]

interface Intruder {
  readonly tenant: Tenant
  readonly isNeighbour: boolean
  person: Account
  readonly identity: (person: Account) => Identity
}

for (const backend of testBackends()) {
  describe(`users on ${backend.name}`, () => {
    let server: ServerProcess
    let world: WalkWorld
    let marked: MarkedWorld
    let victims: readonly Account[]
    let aims: readonly Aim[]
    let intruders: Readonly<Record<IntruderName, Intruder>>
    let before: readonly unknown[]
    let calls = 0

    beforeAll(async () => {
      server = await backend.startServer({ env: { HERMOD_CHECK_ANSWERS: 'on' } })
      world = await WalkWorld.create(server)
      marked = await markedWorld(world)
      const { alice, carol, dave, erin } = marked
      victims = [alice, carol, dave, erin]
      aims = aimsAt(marked)
      const { here, there } = world
      const withToken = ({ token, appId }: Account) => ({ token, appId })
      const asAdmin = { token: there.adminToken, appId: there.appId }
      const intruder = async (
        tenant: Tenant,
        identity: Intruder['identity'],
      ): Promise<Intruder> => {
        return {
          tenant,
          identity,
          isNeighbour: tenant === here,
          person: await world.newPerson(tenant),
        }
      }
      intruders = {
        'a user of the same application': await intruder(here, withToken),
        'a user of another application': await intruder(there, withToken),
        'an Admin of another application, for its own user': await intruder(there, ({ id }) => ({
          ...asAdmin,
          userId: id,
        })),
        'an Admin of another application, for the user': await intruder(there, () => ({
          ...asAdmin,
          userId: alice.id,
        })),
        'an Admin of another application, for nobody': await intruder(there, () => asAdmin),
        'an Admin of another application, for the group': await intruder(there, ({ id }) => {
          return { ...asAdmin, userId: id, groupId: marked.groupId }
        }),
      }
      before = await shown()
    })

    afterAll(async () => {
      await server?.[Symbol.asyncDispose]()
    })

    function aimsAt({
      markers,
      alice,
      carol,
      dave,
      erin,
      messageId,
      recalledId,
      ...group
    }: MarkedWorld): Aim[] {
      const found = (where: string) =>
        markers.find((marker) => marker.where === where)?.text ?? '+15550000000'
      const names = { username: alice.username, mobile: found('mobile'), email: found('email') }
      const common = {
        group: group.groupId,
        announcement: group.announcementId,
        file: group.fileId,
        names,
      }
      return [
        { ...common, user: alice.id, message: messageId, contentType: 0 },
        { ...common, user: carol.id, message: messageId, contentType: 10 },
        { ...common, user: dave.id, message: recalledId, contentType: 12 },
        { ...common, user: erin.id, message: messageId, contentType: 9 },
        { ...common, user: messageId, message: messageId, contentType: 11 },
      ]
    }

    /** All that those concerned see of what is theirs. */
    const shown = () =>
      Promise.all(victims.map((person) => snapshot(world, person, victims, [marked.groupId])))

    function leaksIn({ text }: Answer, isNeighbour: boolean): Marker[] {
      return marked.markers.filter(
        (marker) =>
          text.includes(marker.text) && !(isNeighbour && marker.audience === 'application'),
      )
    }

    /** The answer to a call; a caller who did away with itself comes back as another. */
    async function intrude(
      intruder: Intruder,
      operation: Operation,
      method: string,
      params: Params,
    ): Promise<Answer> {
      for (let lives = 1; ; lives++) {
        calls++
        const answer = await world.call(
          operation,
          intruder.identity(intruder.person),
          params,
          method,
        )
        if (!endOfCaller.includes(answer.code) || lives === maxLives) return answer
        intruder.person = await world.newPerson(intruder.tenant)
      }
    }

    /** A new user may name users to be connected with, and the user who makes a group may name users to invite. */
    function isInvited(operation: Operation, { isNeighbour }: Intruder): boolean {
      return isNeighbour && [registerAnonymousUser.id, createGroup.id].includes(operation.id)
    }

    it('see what they wrote', async () => {
      const all = JSON.stringify(before)
      const missing = marked.markers.filter(
        ({ text, isReadable }) => isReadable && !all.includes(text),
      )
      expect(missing).toEqual([])
      expect(marked.markers.length).toBeGreaterThan(30)
    })

    describe.each(intruderNames)('tell %s nothing that is not meant for it', (name) => {
      it.each(every)('by $id', async ({ operation }) => {
        const intruder = intruders[name]
        const leaks: string[] = []
        for (const method of operation.methods) {
          for (const params of aims.flatMap((aim) =>
            intrusionsInto(operation, aim, () => world.newName()),
          )) {
            const asked = isInvited(operation, intruder)
              ? { ...params, cid: undefined, user_list: undefined }
              : params
            const answer = await intrude(intruder, operation, method, asked)
            for (const { where } of leaksIn(answer, intruder.isNeighbour)) {
              leaks.push(
                `${where}: ${method} ${JSON.stringify(asked)} answered ${answer.text.slice(0, 300)}`,
              )
            }
            if (answer.code >= answerCode.internal_error && answer.code !== answerCode.not_built)
              leaks.push(`${method} ${JSON.stringify(asked)} answered ${answer.text}`)
          }
        }
        expect(leaks).toEqual([])
      })

      it('by what it reads afterwards', async () => {
        const { person, isNeighbour } = intruders[name]
        const text = JSON.stringify(await snapshot(world, person, victims, [marked.groupId]))
        expect(leaksIn({ text } as Answer, isNeighbour)).toEqual([])
      })
    })

    it('find everything of theirs unchanged, and may still log in', async () => {
      expect(await shown()).toEqual(before)
      for (const { id, password, appId } of victims) {
        const answer = await world.call(
          issueTokenById as Operation,
          { appId },
          { user_id: id, password },
        )
        expect(answer).toMatchObject({ status: 200, code: 200 })
      }
      console.info(`isolation: ${calls} calls, ${marked.markers.length} markers on ${backend.name}`)
    })
  })
}
