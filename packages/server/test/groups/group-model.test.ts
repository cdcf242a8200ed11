/**
 * What the service does to groups against a model of the rules, and what must hold when several
 * callers do something at once: that some order of their calls explains all answers, what is there
 * afterwards and the events of it. A failure prints the shortest history that shows it, and the
 * seed that repeats it with HERMOD_TEST_SEED.
 */
import { testBackends } from '@hermod/testkit'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { checkProperty, propertyTimeoutMs } from '../support/check-property.js'
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
import { ownServer } from '../support/in-process-server.js'
import { integrityFaults } from '../support/messaging/messaging.js'
import { explanations } from '../support/push/explanations.js'

describe.each(testBackends())('groups on $name', (backend) => {
  const server = ownServer(backend)
  let world: GroupWorld
  let runs = 0

  beforeAll(async () => {
    world = await GroupWorld.enter(server)
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

  it('groups: any sequence of calls gives the results of the model', {
    timeout: propertyTimeoutMs,
  }, async () => {
    const property = fc.asyncProperty(groupTypes, histories, async (type, calls) => {
      const state = await begin(type, calls)
      expect(await world.observed()).toEqual(expected(state))
    })
    runs += await checkProperty(backend, property)
  })

  it('groups: simultaneous calls give the results of some order of them', {
    timeout: propertyTimeoutMs,
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
    runs += await checkProperty(backend, property)
  })

  it('groups: the integrity check finds no fault after the model', async () => {
    expect(await integrityFaults(server)).toEqual([])
    console.info(`group model on ${backend.name}: ${runs} histories, ${world.serial} calls`)
  })
})

function isEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
