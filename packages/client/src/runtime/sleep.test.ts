import { expect, it } from 'vitest'
import { listenToSleep } from './sleep.js'

it('notices a sleep that one clock has not counted, once, and no other passage of time', () => {
  let [wall, now, heard] = [1_000_000, 0, 0]
  let check = () => {}
  const end = listenToSleep(() => heard++, {
    wallTime: () => wall,
    now: () => now,
    every(_, run) {
      check = run
      return () => {
        check = () => {}
      }
    },
  })
  const pass = (wallMs: number, ms = wallMs) => {
    wall += wallMs
    now += ms
    check()
  }
  pass(5_000)
  pass(60_000)
  pass(5_300, 5_000)
  expect(heard).toBe(0)
  pass(3_600_000, 5_000)
  pass(5_000)
  expect(heard).toBe(1)
  end()
  pass(3_600_000, 0)
  expect(heard).toBe(1)
})
