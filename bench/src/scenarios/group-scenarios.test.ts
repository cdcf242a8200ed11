import { expect, test } from 'vitest'
import { requestSource } from '../load/plan.js'
import type { Population } from '../population/population.js'
import { groupScenarios } from './group-scenarios.js'

test('group-join: who is added again has been kicked before, also in a later run', async () => {
  const groups = { largeId: 7, senders: [{ id: 1, token: 'hmu_1' }], outsiderIds: [10, 11, 12] }
  const population = { appId: 'app', groups: async () => groups } as unknown as Population
  const groupJoin = groupScenarios.find(({ name }) => name === 'group-join')
  const plan = await groupJoin?.prepare(population)
  if (!plan) throw new Error('group-join has no plan')
  const members = new Set<number>()
  let taken = 0
  for (const count of [1, 4, 3, 7]) {
    const next = requestSource(plan, taken)
    for (let index = 0; index < count; index++) {
      const request = next() ?? ''
      const user = JSON.parse(request.split('\r\n\r\n')[1] ?? '').user_list[0]
      const joins = request.includes('/group/admin/member_join')
      expect(members.has(user)).toBe(!joins)
      if (joins) members.add(user)
      else members.delete(user)
    }
    taken += count
  }
})
