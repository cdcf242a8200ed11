/**
 * Texts of users reach no foreign caller, and no foreign caller changes them, whatever operation is called with whatever IDs: every
 * operation by a user of the same application, which proves that SQL is scoped to the user, and by one caller of another application,
 * which proves that it is scoped to the application. PostgreSQL has the user of the same application alone. The full run has every foreign
 * caller; callers.test.ts has them in the pipeline.
 */
import {
  createGroup,
  issueTokenById,
  type Operation,
  operations,
  registerAnonymousUser,
} from '@hermod/protocol'
import { type Answer, type Backend, isFullRun, testBackends } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { InProcessServer } from '../support/in-process-server.js'
import { intrusionsInto, type Target } from '../support/walk/walk-intrusions.js'
import { type MarkedWorld, type Marker, markedWorld } from '../support/walk/walk-markers.js'
import { snapshot } from '../support/walk/walk-snapshot.js'
import {
  type Account,
  type Identity,
  type Params,
  type Tenant,
  WalkWorld,
} from '../support/walk/walk-world.js'

/** Codes of a caller whose own token or account the call before has ended. */
const endOfCaller = [answerCode.token_expired, answerCode.user_disabled, answerCode.user_deleted]
const maxLives = 3

const foreignCallerNames = [
  'a user of the same application',
  'a user of another application',
  'an Admin of another application, for its own user',
  'an Admin of another application, for the user',
  'an Admin of another application, for no user',
  'an Admin of another application, for the group',
] as const
type ForeignCallerName = (typeof foreignCallerNames)[number]

/** Operations that a foreign caller is tried with. */
function operationsFor(
  name: ForeignCallerName,
  backend: Backend,
): { id: string; operation: Operation }[] {
  const others = foreignCallerNames.slice(1)
  const isTried = (index: number) =>
    isFullRun ||
    name === foreignCallerNames[0] ||
    (backend.name === 'sqlite' && name === others[index % others.length])
  return operations
    .filter((_, index) => isTried(index))
    .map((operation) => ({ id: operation.id, operation: operation as Operation }))
}

interface ForeignCaller {
  readonly tenant: Tenant
  readonly isNeighbour: boolean
  person: Account
  readonly identity: (person: Account) => Identity
}

for (const backend of testBackends()) {
  describe(`isolation on ${backend.name}`, () => {
    let server: InProcessServer
    let world: WalkWorld
    let marked: MarkedWorld
    let victims: readonly Account[]
    let targets: readonly Target[]
    let foreignCallers: Readonly<Record<ForeignCallerName, ForeignCaller>>
    let before: readonly unknown[]
    let calls = 0

    beforeAll(async () => {
      server = await InProcessServer.start(backend)
      world = await WalkWorld.create(server)
      marked = await markedWorld(world)
      const { alice, carol, dave, erin } = marked
      victims = [alice, carol, dave, erin]
      targets = targetsOf(marked)
      const { here, there } = world
      const withToken = ({ token, appId }: Account) => ({ token, appId })
      const asAdmin = { token: there.adminToken, appId: there.appId }
      const foreignCaller = async (
        tenant: Tenant,
        identity: ForeignCaller['identity'],
      ): Promise<ForeignCaller> => {
        return {
          tenant,
          identity,
          isNeighbour: tenant === here,
          person: await world.newPerson(tenant),
        }
      }
      foreignCallers = {
        'a user of the same application': await foreignCaller(here, withToken),
        'a user of another application': await foreignCaller(there, withToken),
        'an Admin of another application, for its own user': await foreignCaller(
          there,
          ({ id }) => ({
            ...asAdmin,
            userId: id,
          }),
        ),
        'an Admin of another application, for the user': await foreignCaller(there, () => ({
          ...asAdmin,
          userId: alice.id,
        })),
        'an Admin of another application, for no user': await foreignCaller(there, () => asAdmin),
        'an Admin of another application, for the group': await foreignCaller(there, ({ id }) => {
          return { ...asAdmin, userId: id, groupId: marked.groupId }
        }),
      }
      before = await shown()
    })

    afterAll(async () => {
      await server?.[Symbol.asyncDispose]()
    })

    function targetsOf({
      markers,
      alice,
      carol,
      dave,
      erin,
      messageId,
      recalledId,
      ...group
    }: MarkedWorld): Target[] {
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

    /** Everything that the authors see of their own. */
    const shown = () =>
      Promise.all(victims.map((person) => snapshot(world, person, victims, [marked.groupId])))

    function leaksIn({ text }: Answer, isNeighbour: boolean): Marker[] {
      return marked.markers.filter(
        (marker) =>
          text.includes(marker.text) && !(isNeighbour && marker.audience === 'application'),
      )
    }

    /** The answer to a call. A caller that deleted itself or ended its token is replaced. */
    async function intrude(
      foreignCaller: ForeignCaller,
      operation: Operation,
      method: string,
      params: Params,
    ): Promise<Answer> {
      for (let lives = 1; ; lives++) {
        calls++
        const answer = await world.call(
          operation,
          foreignCaller.identity(foreignCaller.person),
          params,
          method,
        )
        if (!endOfCaller.includes(answer.code) || lives === maxLives) return answer
        foreignCaller.person = await world.newPerson(foreignCaller.tenant)
      }
    }

    /** A new user may name users to be connected with, and the user who makes a group may name users to invite. */
    function isInvited(operation: Operation, { isNeighbour }: ForeignCaller): boolean {
      const inviting: readonly string[] = [registerAnonymousUser.id, createGroup.id]
      return isNeighbour && inviting.includes(operation.id)
    }

    it('the authors: read their own texts', async () => {
      const all = JSON.stringify(before)
      const missing = marked.markers.filter(
        ({ text, isReadable }) => isReadable && !all.includes(text),
      )
      expect(missing).toEqual([])
      expect(marked.markers.length).toBeGreaterThan(30)
    })

    describe.each(foreignCallerNames)('%s', (name) => {
      it.each(operationsFor(name, backend))(
        '$id: shows no text of another user',
        async ({ operation }) => {
          const foreignCaller = foreignCallers[name]
          const leaks: string[] = []
          for (const method of operation.methods) {
            for (const params of targets.flatMap((target) =>
              intrusionsInto(operation, target, () => world.newName()),
            )) {
              const asked = isInvited(operation, foreignCaller)
                ? { ...params, cid: undefined, user_list: undefined }
                : params
              const answer = await intrude(foreignCaller, operation, method, asked)
              for (const { where } of leaksIn(answer, foreignCaller.isNeighbour)) {
                leaks.push(
                  `${where}: ${method} ${JSON.stringify(asked)} answered ${answer.text.slice(0, 300)}`,
                )
              }
              const isOffered =
                answer.code !== answerCode.not_built && answer.code !== answerCode.socket_needed
              if (answer.code >= answerCode.internal_error && isOffered)
                leaks.push(`${method} ${JSON.stringify(asked)} answered ${answer.text}`)
            }
          }
          expect(leaks).toEqual([])
        },
      )

      it('reads afterwards: show no text of another user', async () => {
        const { person, isNeighbour } = foreignCallers[name]
        const text = JSON.stringify(await snapshot(world, person, victims, [marked.groupId]))
        expect(leaksIn({ text } as Answer, isNeighbour)).toEqual([])
      })
    })

    it('the authors: find everything unchanged and log in', async () => {
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
