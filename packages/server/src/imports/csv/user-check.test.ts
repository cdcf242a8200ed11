import { tmpdir } from 'node:os'
import { expect, it } from 'vitest'
import { UserCheck } from './user-check.js'

it('names the rows that the service would refuse, and what the file has twice', () => {
  using check = new UserCheck(tmpdir(), { now: Date.UTC(2026, 0), passwordMinLength: 6 })
  const of = (subject: string) => ({ identities: [{ issuer: 'app', subject }] })
  check.add(2, { username: 'ann', ...of('1') })
  check.add(3, { username: 'ben', ...of('2'), nick_name: '=HYPERLINK("x")' })
  check.add(4, { username: 'ANN', ...of('3') })
  check.add(5, { username: 'cy', ...of('1') })
  check.add(6, { username: 'ann', ...of('1') })
  check.add(7, { username: 'a b', ...of('4') })
  check.add(8, { username: 'dee', ...of('x'.repeat(256)) })
  check.fail({ line: 9, reason: 'is not valid UTF-8' })
  const { samples, ...counts } = check.end()
  expect(counts).toMatchObject({ in: 8, mapped: 2, faults: 6 })
  expect(samples.map(({ line }) => line)).toEqual([7, 8, 9, 4, 5, 6])
  expect(counts.reasons).toContainEqual({ reason: 'is not valid UTF-8', count: 1 })
})
