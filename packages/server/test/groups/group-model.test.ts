/**
 * What the service does to groups against a model of the rules, and what must hold when several callers do something at once: that some
 * order of their calls explains all answers, what is there afterwards and the events of it. A failure prints the shortest history
 * that shows it, and the seed that repeats it with HERMOD_TEST_SEED.
 */
import { testBackends } from '@hermod/testkit'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newState, type State } from '../support/groups/group-model.js'
import {
  aimed,
  beginnings,
  bursts,
  groupTypes,
  histories,
} from '../support/groups/group-model-calls.js'
import { type Call, type Result, step } from '../support/groups/group-model-rules.js'
import { expected, GroupWorld } from '../support/groups/group-model-world.js'
import { integrityFaults } from '../support/messaging/messaging.js'
import { explanations } from '../support/push/explanations.js'
import { WatchedServer } from '../support/watched-server.js'
import { withinTime } from '../support/within-time.js'

const runs = Number(process.env.HERMOD_TEST_RUNS ?? 60)
const seed =
  process.env.HERMOD_TEST_SEED === undefined ? {} : { seed: Number(process.env.HERMOD_TEST_SEED) }
const timeoutMs = 300_000

for (const backend of testBackends()) {
  describe(`groups on ${backend.name}`, () => {
    let watched: WatchedServer
    let world: GroupWorld

    beforeAll(async () => {
      watched = await WatchedServer.start(backend)
      world = await GroupWorld.enter(watched)
    })

    afterAll(async () => {
      await watched?.[Symbol.asyncDispose]()
    })

    async function begin(type: number, calls: readonly Call[]): Promise<State> {
      await world.newGroup(type)
      const state = newState(type)
      for (const each of calls) {
        const call = aimed(state, each)
        const answer = await world.perform(call)
        expect(answer, JSON.stringify(call)).toEqual(step(state, call))
      }
      return state
    }

    it('are what the model says after any history of calls', { timeout: timeoutMs }, async () => {
      const property = fc.asyncProperty(groupTypes, histories, async (type, calls) => {
        const state = await begin(type, calls)
        expect(await world.observed()).toEqual(expected(state))
      })
      await fc.assert(property, { ...seed, numRuns: runs, ...withinTime })
    })

    it('are what some order of the calls explains, whatever several do at once', {
      timeout: timeoutMs,
    }, async () => {
      const property = fc.asyncProperty(
        groupTypes,
        beginnings,
        bursts,
        async (type, beginning, storms) => {
          let state = await begin(type, beginning)
          for (const storm of storms) {
            const before = state
            const calls = storm.map((call) => aimed(before, call))
            const answers = await Promise.all(calls.map((call) => world.perform(call)))
            const observed = await world.observed()
            const answered = calls.map((call, index) => [call, answers[index] as Result] as const)
            const explained = explanations(state, answered, step)
            expect(explained.map(expected), JSON.stringify(answered)).toContainEqual(observed)
            state = explained.find((each) => isEqual(expected(each), observed)) ?? state
          }
        },
      )
      await fc.assert(property, { ...seed, numRuns: runs, ...withinTime })
    })

    it('leave nothing behind that does not agree', async () => {
      expect(await integrityFaults(watched.server)).toEqual([])
      console.info(`group model on ${backend.name}: ${2 * runs} histories, ${world.serial} calls`)
    })
  })
}

function isEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
